// Package lint holds the rules of the codebase as ordinary tests: what the architecture
// means, and not what is a matter of taste.
//
// The packages, their marks and their layers are the table in layers.go, which is
// the architecture document. Run it with
//
//	go test ./internal/lint
//
// It parses the whole module and prints every finding at once, with the place
// and what to do about it. Each rule has a small module under testdata that
// breaks it, so the rules are tested themselves.
//
// The rules:
//
//	toplevel     the top level of the repository is exactly what it should be
//	table        every package stands in the table, and every row has a package
//	layer        imports point down; neighbours do not know each other
//	importer     each heavy dependency is imported only by the packages listed for it
//	pure         a pure package computes, and does nothing else
//	words        a package of words runs nothing
//	passive      a passive package has a mutex and a clock, and starts nothing
//	seam         a shell waits and forks only through internal/executor
//	constructor  no function called New… starts anything
//	example      every exported constructor is called by a runnable example
//	global       no init, no variable state, no exit but in a main package
//	hidden       every type that an exported name shows can be named by an importer
//	size         no file has more lines than can be read in one go
//	files        only internal/osfile opens directories and removes trees
//	doc          every package and every exported name says what it is
//	sleep        no test sleeps or polls, except in virtual time
//	leak         what starts something is tested for leaving nothing behind
//
// The exported API stands in testdata/api.txt, with a tier for each package: a
// change of it shows there, as a difference to be defended.
//
// How much production code there is, and how long its functions are, is counted and
// bounded by
//
//	go test ./internal/lint -run TestSize -v
//
// The weight of what an importer compiles is a rule too, but asks the go
// command, so it stands in the tests.
package lint
