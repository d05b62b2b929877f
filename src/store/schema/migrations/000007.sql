-- The native response around the image, JSON text, from its publication until the image's bytes go: so a
-- lookup says the same of an ended task whatever the blob store does. Null: published by the version before.
alter table task add column native_response text;
