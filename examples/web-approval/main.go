package main

import (
	_ "github.com/toolrunner/toolrunner"
	_ "github.com/toolrunner/toolrunner/toolrunnertest"
	_ "modernc.org/sqlite"
)

func main() {}
