"""Operation of an installation: doctor, storage, logs, licences, cleaning."""
