// Benchratio compares the benchmarks of one run with recorded figures. It reads the output of
//
//	go test -bench
//
// from standard input, and the recorded figures from a file. It compares allocations, and ratios of two benchmarks of
// the same run. It does not compare times, because they depend on the machine. If a figure is more than 1.5 times as
// large as recorded, or missing, it prints a line for it and exits with 1.
//
//	go run ./internal/benchratio internal/benchratio/recorded.txt <output
//	go run ./internal/benchratio -record internal/benchratio/recorded.txt <output
//
// It parses the output itself. With golang.org/x/perf the go.mod of this module would have another requirement only for
// one line format.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	record := flag.Bool("record", false, "write the figures of this run into the file")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: benchratio [-record] FILE <output of go test -bench")
		os.Exit(2)
	}
	faults, err := compareOrRecord(flag.Arg(0), *record)
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchratio:", err)
		os.Exit(2)
	}
	for _, fault := range faults {
		fmt.Println(fault)
	}
	if len(faults) > 0 {
		os.Exit(1)
	}
}

// compareOrRecord reads benchmark results from standard input. If record is true, it writes them to the file
// and compares nothing. If record is false, it prints each recorded figure beside the new one, and returns a
// fault for each figure that is too large or missing.
func compareOrRecord(file string, record bool) (faults []string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	recorded, err := parseRecordedFigures(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	results, err := parseBenchmarkOutput(os.Stdin)
	if err != nil {
		return nil, err
	}
	if record {
		updated, err := recorded.updatedText(results)
		if err != nil {
			return nil, err
		}
		return nil, os.WriteFile(file, []byte(updated), 0o644)
	}
	for _, c := range recorded.allFigures() {
		now, err := c.computeFrom(results)
		if err != nil {
			faults = append(faults, err.Error())
			continue
		}
		fmt.Printf("%-66s recorded %8.2f, now %8.2f\n", c, c.value, now)
		if now > limit*c.value {
			faults = append(faults, fmt.Sprintf("%s is %.2f, more than %g times the recorded %.2f", c, now, limit, c.value))
		}
	}
	return faults, nil
}
