package bare

// bare holds I1 and has no table.
func bare() {}
