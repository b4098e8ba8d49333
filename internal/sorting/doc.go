// Package sorting sorts slices of structs as slices.SortFunc does, in little code. The compiler
// makes that function, and all that it calls, once more for each struct: 10 to 25 kB of the
// program for each place that sorts a handful of values. Here it is a few hundred bytes. Where
// speed matters, slices.SortFunc is used.
package sorting
