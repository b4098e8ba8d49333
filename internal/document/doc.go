// Package document reads YAML and JSON files that people write. A file may hold any number of documents. Each value has
// its line, and the size of a file is bounded after the expansion of its aliases.
//
//	file, faults := document.Read(text, document.Bounds{Bytes: 10 << 20, Memory: 32 << 20})
//	for _, doc := range file.Documents {
//		missing, faults := file.Decode(doc, &pod)
//	}
//
// A file is rejected before anything is expanded. The bounds of bytes, values (200,000) and levels (100) hold for all
// documents of the file together, with aliases and merge keys expanded. The memory that a document needs is counted
// before the document is decoded. Until then an alias shares its value, so reading costs a small multiple of the text.
//
// JSON converts a document for a JSON decoder. No other package reads YAML.
//
// All faults are reported at once. Valid values are decoded in spite of them, so that the caller can go on checking.
// Decode lists the values that are missing because they were faulty. A file that is neither YAML nor JSON, or that
// exceeds a bound, has no documents.
//
// sigs.k8s.io/yaml could decode these files too. It returns no lines, and it expands aliases without a bound.
package document
