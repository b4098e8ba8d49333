package document

import "fmt"

// Bounds is what a file may hold at most, all of its documents together.
type Bounds struct {
	// Bytes bounds the text of the file, and the texts and names in it with
	// aliases and merge keys written out.
	Bytes int64
	// Memory bounds what its documents take as values of Go, in bytes: an item
	// of two characters can become a struct of a thousand bytes. The measure is
	// the sizes of the types, so it is a little less than what is really taken.
	Memory int64
}

const (
	// maxDepth bounds the levels of a document: a pod needs under 20.
	maxDepth = 100
	// maxValues bounds the values of all documents, with aliases written out.
	maxValues = 200_000
	// maxSum is where sums of bytes stop: above every bound.
	maxSum = 1 << 40
)

// passed says which bound a document passes, with all values and bytes up to its
// end, and the line where it does.
func (b Bounds) passed(v *Value, values int, bytes int64) (line int, err error) {
	switch {
	case v.height > maxDepth:
		return v.line(func(part *Value) bool { return part.height > maxDepth }), fmt.Errorf("nested deeper than %d levels", maxDepth)
	case values > maxValues:
		return v.line(func(part *Value) bool { return part.size > maxValues }), fmt.Errorf("more than %d values once aliases are written out", maxValues)
	case bytes > b.Bytes:
		return v.line(func(part *Value) bool { return part.bytes > b.Bytes }), fmt.Errorf("more than %s once aliases are written out", size(b.Bytes))
	}
	return 0, nil
}

// size is a number of bytes as people write it.
func size(bytes int64) string {
	if bytes >= 1<<20 && bytes%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
