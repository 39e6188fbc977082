"""English words that are often misspelt, each with a usual wrong spelling, in lower case.

The wrong spellings are no words themselves.
"""

from __future__ import annotations

_LIST = """
absence absense, acceptable acceptible, accidentally accidently, accommodate accomodate, accommodation accomodation,
according acording, achieve acheive, achieved acheived, acknowledge acknowlege, acquire aquire, acquired aquired, across
accross, actually actualy, address adress, addresses adresses, advertisement advertisment, aggressive agressive,
although allthough, always allways, amateur amatuer, among amoung, amount ammount, annual anual, answer anwser,
apartment appartment, apparent apparant, appearance appearence, appropriate apropriate, approximately aproximately,
argument arguement, arguments arguements, arithmetic arithmatic, athlete athelete, attendance attendence, average
avarage, balloon baloon, balloons baloons, beautiful beatiful, because becuase, before befor, beginning begining,
behaviour behavoir, believe beleive, believed beleived, believes beleives, benefit benifit, benefits benifits, between
beetween, bicycle bycicle, birthday birtday, breakfast breakfest, brought brougth, building bulding, business buisness,
businesses buisnesses, calculate calulate, calendar calender, candidate canidate, category catagory, ceiling cieling,
cemetery cemetary, certain certian, challenge challange, changing changeing, character charachter, chemical chemcial,
children childern, chocolate choclate, chocolates choclates, colleague collegue, collect colect, collected colected,
collection colection, column colum, coming comming, commission commision, committed commited, committee commitee, common
comon, community comunity, company compnay, comparison comparision, complete compleet, completely completly,
concentration consentration, conscience concience, conscious concious, consider concider, considered concidered,
consistent consistant, contain contian, contains contians, continue contineu, convenient convient, cookies cookys,
correct corect, country contry, criticism critisism, customers custumers, decide descide, decided descided, decision
desicion, definite definate, definitely definately, delivered deliverd, describe discribe, describes discribes,
description discription, desperate desparate, develop develope, developed developped, development developement,
difference diffrence, difficult dificult, disappear dissapear, disappoint dissapoint, discipline disipline, discussion
discusion, distance distence, education eduaction, effect efect, efficient efficent, embarrass embarass, employee
employe, energy enegry, enough enought, environment enviroment, environmental enviromental, equipment equiptment,
especially especialy, essential esential, everything everthing, example exemple, excellent excelent, exercise excercise,
exercises excercises, existence existance, expense expence, expensive expensiv, experience experiance, experiment
experimant, explanation explaination, extremely extremly, familiar familar, family famliy, famous famouse, favourite
favorit, february febuary, finally finaly, finished finnished, flower flowr, following folowing, foreign foriegn,
forward foward, friend freind, friends freinds, function fucntion, garden gardan, generally generaly, glasses glases,
government goverment, governments goverments, grammar grammer, guarantee garantee, guidance guidence, happen hapen,
happened happend, height heigth, history histroy, holiday holliday, hospital hopsital, however howerver, hygiene
hygeine, identical identicle, imagine imagin, immediate imediate, immediately immediatly, important importent, include
inlcude, includes inlcudes, increase incraese, independent independant, indicate indecate, individual indivdual,
influence influance, information infomation, instead insted, intelligence inteligence, interest intrest, interested
intrested, interesting intresting, interpretation interpretion, invest invset, island iland, jewelry jewlery, journey
jorney, judgment jugdment, kitchen kichen, knowledge knowlege, laboratory labratory, language langauge, leisure liesure,
library libary, license lisence, likely likley, literature litrature, lottery lotery, machine machien, maintain
maintian, maintenance maintainance, manufacture manufature, marriage marrage, material matirial, materials matirials,
mathematics mathmatics, maximum maximun, measure mesure, measured mesured, medicine medecine, medium meduim, message
mesage, minimum minimun, mischief mischeif, molecule molecul, morning mornig, mountain mountian, muscle muscel, musician
musican, natural naturel, necessary neccessary, neighbor nieghbor, neighborhood nieghborhood, neighbour nieghbour,
noticeable noticable, number nubmer, obvious obvius, occasion occassion, occur ocurr, occurred occured, occurrence
occurence, official offical, opinion opinon, opponent oponent, opportunity oppurtunity, opposite oposite, orange ornage,
ordinary ordinery, original orignal, package pakage, packages pakages, parallel paralell, particular particuler,
particularly particularily, passenger passanger, passengers passangers, pencil pensil, pencils pensils, people poeple,
performance performence, perhaps prehaps, permanent permanant, persistent persistant, person persen, persuade pursuade,
phenomenon phenomonon, physical phisical, picture pitcure, pictures pitcures, piece peice, pieces peices, pleasant
plesant, please plase, political politcal, population populaton, possess posess, possession posession, possibility
possiblity, possible posible, possibly possibley, potato potatoe, potatoes potatos, practical practicle, prefer perfer,
preference preferance, preparation preperation, prepare perpare, present presant, pressure presure, privilege
priviledge, probability probablity, probably probaly, problem probelm, problems probelms, procedure proceedure, process
proces, produce produse, product prodcut, professional profesional, professor proffesor, project projetc, pronunciation
pronounciation, property propery, psychology phsychology, publicly publically, purchase purchace, purchased purchaced,
quantity quantitiy, question quesiton, questions quesitons, quiet queit, reaction reation, really realy, receive
recieve, received recieved, receives recieves, recently recenty, recognize reconize, recommend reccomend, recommended
reccomended, reference refrence, relationship realtionship, relevant relevent, religious religous, remember rember,
repetition repitition, represent repersent, require requier, required requird, research reasearch, resource resourse,
resources resourses, respectively repsectively, response responce, responsibility responsability, responsible
responsable, restaurant restaraunt, restaurants restaraunts, result reslut, results resluts, rhythm rythm, safety
saftey, sandwich sandwhich, sandwiches sandwhiches, schedule shedule, school shcool, science sience, scientific
sientific, secretary secratary, sentence sentance, separate seperate, separated seperated, separately seperately,
sergeant sargent, several severel, shoulder sholder, similar similiar, similarly similarily, sincerely sincerly,
situation situtation, skill skil, slightly slighty, society soceity, solution soluton, something somthing, sometimes
sometiems, special speical, specific specfic, speech speach, standard standart, statement statment, statements
statments, station sation, strategy stragety, strength strenght, structure strucutre, student studnet, students
studnets, succeed suceed, success sucess, successful succesful, sufficient sufficent, suggest sugest, suggests sugests,
summary sumary, supply suply, support suport, suppose supose, surface surfase, surprise suprise, surrounding surounding,
system sytem, systems sytems, technique technque, temperature temperture, temporary temporery, theory theroy, therefore
therfore, thorough thorogh, thought thougth, through throught, together togehter, tomatoes tomatos, tomorrow tommorow,
tournament tournement, towards twoards, transferred transfered, travel travle, treasure tresure, truly truely, typical
tipical, unfortunately unfortunatly, unique uniqe, university univeristy, until untill, usually usualy, vacation
vaction, vaccine vacine, valuable valueable, various varius, vegetable vegtable, vegetables vegtables, vehicle vehical,
village villege, visible visable, volume volumn, wednesday wensday, weight wieght, weird wierd, welcome wellcome, which
wich, window windwo, writing writting, written writen, yesterday yesturday
"""

_PAIRS = [entry.split() for entry in _LIST.split(",")]

MISSPELLINGS = dict(pair for pair in _PAIRS)
"""Word -> wrong spelling."""
