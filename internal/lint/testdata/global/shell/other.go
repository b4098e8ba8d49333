package shell

// elsewhere is written to in another file.
func elsewhere() { afar++ }
