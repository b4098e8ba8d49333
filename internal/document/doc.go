// Package document reads YAML and JSON files that people write: any number of documents in
// a file, with the line of every value, and with bounds on what a small file can become.
//
//	file, faults := document.Read(text, document.Bounds{Bytes: 10 << 20, Memory: 32 << 20})
//	for _, doc := range file.Documents {
//		missing, faults := file.Decode(doc, &pod)
//	}
//
// A file is rejected before anything is expanded. Bytes, values (200,000) and levels (100)
// are counted with aliases and merge keys expanded, over all documents of the file. The
// memory that a document needs is counted before it is decoded. An alias shares its value
// until then, so reading costs a small multiple of the text.
//
// JSON converts a document for a decoder of JSON. No other package reads YAML.
//
// All faults are reported at once. Valid values are decoded in spite of them, so that the
// caller can go on checking; Decode names the values that are missing because they are
// faults. Faults that leave nothing to decode (neither YAML nor JSON, a bound exceeded)
// come alone, with those before them.
//
// sigs.k8s.io/yaml would decode these files too. It returns no lines, and it expands aliases without a
// bound.
package document
