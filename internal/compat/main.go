//go:build linux

// Compat tests Podkeel with versions of the k8s.io modules, releases of the API server, families of containerd, operating
// systems and processors. It runs the commands of rows.go, stores the results in results.json, and writes
// ../COMPATIBILITY.md from them. A row that does not run keeps its result.
//
//	go run ./internal/compat                        runs all rows, which takes an hour
//	go run ./internal/compat api-servers/1.34       runs one row
//	go run ./internal/compat platforms modules      runs two tables
//	go run ./internal/compat -check modules/newest  runs one row and writes nothing
//	go run ./internal/compat -page                  writes the page from the stored results
//
// It exits with 1 if a cell is worse than the stored one: a cell that was "tested" is not tested now, or a cell
// that was "compiles" does not compile now. The commands run in the order of the tables, one at a time.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("compat: ")
	check := flag.Bool("check", false, "write nothing")
	page := flag.Bool("page", false, "run nothing, and write the page from the stored results")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	selected, err := selectRows(pageTables(), flag.Args())
	if err != nil {
		log.Fatal(err)
	}
	if *page {
		selected = nil
	}
	if err := runAndStore(ctx, selected, !*check); err != nil {
		log.Fatal(err)
	}
}

// runAndStore runs rows. If write is true, it writes the results and the page after each row. The error names the cells
// that are worse than the stored cells.
func runAndStore(ctx context.Context, rows []selectedRow, write bool) error {
	root := repositoryRoot()
	stored, err := readResults(filepath.Join(root, "internal/compat/results.json"))
	if err != nil {
		return err
	}
	var worse []string
	for _, row := range rows {
		result, err := runRow(ctx, root, row)
		if err != nil {
			return fmt.Errorf("%s: %w", row, err)
		}
		for _, column := range row.table.Columns {
			fmt.Printf("%s, %s: %s\n", row, column, result.Cells[column])
		}
		if !row.row.Informational {
			worse = append(worse, worseCells(row, stored[row.table.Name][row.row.Name], result)...)
		}
		stored.storeRow(row, result)
		if write {
			if err := stored.writeFiles(root); err != nil {
				return err
			}
		}
	}
	if write && rows == nil {
		return stored.writeFiles(root)
	}
	if len(worse) > 0 {
		return errors.New("worse than " + pageFile + ":\n" + strings.Join(worse, "\n"))
	}
	return nil
}

// repositoryRoot returns the directory of the repository.
func repositoryRoot() string {
	_, file, _, _ := runtime.Caller(0)
	if filepath.IsAbs(file) {
		return filepath.Join(filepath.Dir(file), "../..")
	}
	dir, err := os.Getwd() // A program that was built with -trimpath must run in the root.
	if err != nil {
		log.Fatal(err)
	}
	return dir
}
