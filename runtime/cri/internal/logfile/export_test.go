package logfile

// LastLines is lastLines, for its tests.
var LastLines = lastLines
