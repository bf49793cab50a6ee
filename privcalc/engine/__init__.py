"""The engines: compositions of loss laws in, certified brackets out."""
