"""The record: schema, writer, reader."""
