package lint

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// checkTopLevelEntries reports entries of the module's root directory that Codebase.TopLevel does not list, and
// listed entries that are missing. Hidden and git-ignored entries need not be listed.
func checkTopLevelEntries(r *findings, h Codebase) {
	entries, err := os.ReadDir(r.m.Root)
	if err != nil {
		r.reportFile(".", "cannot be read: %v", err)
		return
	}
	ignored := gitignoreMatcher(r.m.Root)
	var seen []string
	for _, e := range entries {
		name := e.Name()
		seen = append(seen, name)
		if strings.HasPrefix(name, ".") || slices.Contains(h.TopLevel, name) || ignored(name) {
			continue
		}
		r.reportFile(name, "does not belong at the top: everything lives beneath %s", strings.Join(h.TopLevel, ", "))
	}
	for _, name := range h.TopLevel {
		if !slices.Contains(seen, name) {
			r.reportFile(name, "is missing at the top level")
		}
	}
}

// gitignoreMatcher returns a function that reports whether a pattern in the .gitignore of root matches a name.
// Without a .gitignore no name matches.
func gitignoreMatcher(root string) func(name string) bool {
	text, _ := os.ReadFile(filepath.Join(root, ".gitignore")) // Without one nothing is ignored.
	patterns := strings.Fields(string(text))
	return func(name string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			ok, _ := path.Match(strings.Trim(p, "/"), name)
			return ok
		})
	}
}

// checkRowsAndMainMarksOfPackages compares the packages of the module with the table in layers.go. It reports a
// package without a row, and a row without a package. It also reports a package main whose row lacks the mark
// Main, and another package whose row has it.
func checkRowsAndMainMarksOfPackages(r *findings, h Codebase) {
	var seen []string
	for _, p := range r.m.Packages {
		seen = append(seen, p.Dir)
		row, ok := h.findRow(p.Dir)
		switch {
		case !ok:
			r.reportFile(p.Dir, "stands in no row of the table: give it a mark and a layer in internal/lint/layers.go")
		case (p.Name == "main") != (row.Mark == Main):
			r.reportFile(p.Dir, "is package %s and its mark is %s: exactly the programs are called main", p.Name, row.Mark)
		}
	}
	for _, row := range h.Rows {
		exists := func(dir string) bool { ok, _ := path.Match(row.Dir, dir); return ok }
		if !slices.ContainsFunc(seen, exists) {
			r.reportFile(row.Dir, "stands in the table and does not exist: delete its row in internal/lint/layers.go")
		}
	}
}

// checkImportsPointToLowerLayers reports imports within the module that point to the same or a higher layer and
// that Codebase.Stairs does not list. It also reports an entry of Stairs that no import uses. Tests are exempt.
func checkImportsPointToLowerLayers(r *findings, h Codebase) {
	used := map[Stair]bool{}
	for _, p := range r.m.Packages {
		from, ok := h.findRow(p.Dir)
		if !ok {
			continue // The rule above says so.
		}
		for _, f := range p.productionFiles() {
			for _, spec := range f.Imports {
				dir, inside := strings.CutPrefix(importPath(spec), h.Module+"/")
				to, ok := h.findRow(dir)
				if !inside || !ok || to.Layer < from.Layer {
					continue
				}
				if i := slices.IndexFunc(h.Stairs, func(s Stair) bool { return s.From == p.Dir && s.To == dir }); i >= 0 {
					used[h.Stairs[i]] = true
					continue
				}
				if to.Layer == from.Layer {
					r.reportNode(f, spec, "imports its neighbour %s on layer %s: declare the one or two methods you need as an unexported interface", dir, to.Layer)
				} else {
					r.reportNode(f, spec, "imports %s, which is up on layer %s, from layer %s", dir, to.Layer, from.Layer)
				}
			}
		}
	}
	for _, s := range h.Stairs {
		if !used[s] {
			r.reportFile(s.From, "has an exception for %s that it does not use: delete it in internal/lint/layers.go", s.To)
		}
	}
}

// checkSoleImporters reports an import of another module by a package that Codebase.SoleImporters does not list
// for it. Modules of the base layer that have no entry there are free for all. Tests and kits may also import
// where the entry lists "test".
func checkSoleImporters(r *findings, h Codebase) {
	for _, p := range r.m.Packages {
		row, _ := h.findRow(p.Dir)
		for _, f := range p.Files {
			test := f.Test || row.Mark == Kit
			for _, spec := range f.Imports {
				imported := importPath(spec)
				first, _, _ := strings.Cut(imported, "/")
				if !strings.Contains(first, ".") || isSameOrBelow(imported, h.Module) {
					continue
				}
				importer := slices.IndexFunc(h.SoleImporters, func(d SoleImporter) bool { return isSameOrBelow(imported, d.Path) })
				base := slices.ContainsFunc(h.Base, func(g string) bool { return isSameOrBelow(imported, g) })
				switch { // A part of the base layer may have importers of its own.
				case importer < 0 && base:
				case importer < 0:
					r.reportNode(f, spec, "imports %s, which no package may import: do without, or add an importer in internal/lint/layers.go", imported)
				case test && slices.Contains(h.SoleImporters[importer].Rows, "test"):
				case !slices.Contains(h.SoleImporters[importer].Rows, p.Dir):
					r.reportNode(f, spec, "imports %s, which only %s may import", imported, strings.Join(h.SoleImporters[importer].Rows, ", "))
				}
			}
		}
	}
}

// isSameOrBelow reports whether an import path p is root or below root.
func isSameOrBelow(p, root string) bool { return p == root || strings.HasPrefix(p, root+"/") }
