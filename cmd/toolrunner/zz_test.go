package main

import _ "github.com/rogpeppe/go-internal/testscript"
