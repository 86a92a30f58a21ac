-- Further fields of a document as a JSON object, or NULL. The checksum of a row covers them only if they are not NULL, so the
-- checksums of earlier rows stay valid.
ALTER TABLE documents ADD COLUMN metadata TEXT;
