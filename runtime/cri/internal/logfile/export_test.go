package logfile

// LastLines is offsetOfLastLines, for its tests.
var LastLines = offsetOfLastLines
