// Package document reads the files that people write: YAML and JSON, any number of
// documents in a file, with the line of every value and with bounds on what a
// small file can become.
//
//	file, faults := document.Read(text, document.Bounds{Bytes: 10 << 20, Memory: 32 << 20})
//	for _, doc := range file.Documents {
//		missing, faults := file.Decode(doc, &pod)
//	}
//
// # Bounds
//
// A file is rejected before anything is expanded. Bytes, values (200,000) and levels
// (100) count with aliases and merge keys written out, in keys and in texts, and over
// all documents of the file; what a document takes in memory is counted before it is
// decoded. An alias shares its value until then, so that reading costs a small
// multiple of the text.
//
// # Faults
//
// All faults are told at once. What can be read in spite of them is decoded, so that
// the caller can go on checking: Decode names the values that are missing because
// they are faults themselves. Faults of the text that leave nothing to go on with (it
// is neither YAML nor JSON, or passes a bound) come alone, with those before them.
package document
