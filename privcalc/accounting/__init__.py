"""One entry function per command: from a specification tree to certified answers, no I/O."""
