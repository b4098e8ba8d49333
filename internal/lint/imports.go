package lint

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// topLevel wants exactly the entries the house has, besides dot files and what
// git ignores.
func topLevel(r *findings, h House) {
	entries, err := os.ReadDir(r.m.Root)
	if err != nil {
		r.on(".", "cannot be read: %v", err)
		return
	}
	ignored := ignoredAtTop(r.m.Root)
	var seen []string
	for _, e := range entries {
		name := e.Name()
		seen = append(seen, name)
		if strings.HasPrefix(name, ".") || slices.Contains(h.TopLevel, name) || ignored(name) {
			continue
		}
		r.on(name, "does not belong at the top: everything lives beneath %s", strings.Join(h.TopLevel, ", "))
	}
	for _, name := range h.TopLevel {
		if !slices.Contains(seen, name) {
			r.on(name, "is missing at the top level")
		}
	}
}

// ignoredAtTop reads .gitignore as far as it concerns the top level.
func ignoredAtTop(root string) func(name string) bool {
	text, _ := os.ReadFile(filepath.Join(root, ".gitignore")) // Without one nothing is ignored.
	patterns := strings.Fields(string(text))
	return func(name string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			ok, _ := path.Match(strings.Trim(p, "/"), name)
			return ok
		})
	}
}

// roomsOfTheTable compares the packages with the table, both ways.
func roomsOfTheTable(r *findings, h House) {
	var seen []string
	for _, p := range r.m.Packages {
		seen = append(seen, p.Dir)
		room, ok := h.room(p.Dir)
		switch {
		case !ok:
			r.on(p.Dir, "stands in no row of the table: give it a mark and a floor in internal/lint/floors.go")
		case (p.Name == "main") != (room.Mark == Main):
			r.on(p.Dir, "is package %s and its mark is %s: exactly the programs are called main", p.Name, room.Mark)
		}
	}
	for _, room := range h.Rooms {
		exists := func(dir string) bool { ok, _ := path.Match(room.Dir, dir); return ok }
		if !slices.ContainsFunc(seen, exists) {
			r.on(room.Dir, "stands in the table and does not exist: delete its row in internal/lint/floors.go")
		}
	}
}

// floors wants imports within the module to point down. Tests may look up.
func floors(r *findings, h House) {
	used := map[Stair]bool{}
	for _, p := range r.m.Packages {
		from, ok := h.room(p.Dir)
		if !ok {
			continue // The rule above says so.
		}
		for _, f := range p.sources() {
			for _, spec := range f.Imports {
				dir, inside := strings.CutPrefix(importPath(spec), h.Module+"/")
				to, ok := h.room(dir)
				if !inside || !ok || to.Floor < from.Floor {
					continue
				}
				if i := slices.IndexFunc(h.Stairs, func(s Stair) bool { return s.From == p.Dir && s.To == dir }); i >= 0 {
					used[h.Stairs[i]] = true
					continue
				}
				if to.Floor == from.Floor {
					r.at(f, spec, "imports its neighbour %s on floor %s: declare the one or two methods you need as an unexported interface", dir, to.Floor)
				} else {
					r.at(f, spec, "imports %s, which is up on floor %s, from floor %s", dir, to.Floor, from.Floor)
				}
			}
		}
	}
	for _, s := range h.Stairs {
		if !used[s] {
			r.on(s.From, "has a stair to %s that it does not use: delete it in internal/lint/floors.go", s.To)
		}
	}
}

// doors wants whatever is not of the ground floor to enter by a door.
func doors(r *findings, h House) {
	for _, p := range r.m.Packages {
		room, _ := h.room(p.Dir)
		for _, f := range p.Files {
			test := f.Test || room.Mark == Kit
			for _, spec := range f.Imports {
				imported := importPath(spec)
				first, _, _ := strings.Cut(imported, "/")
				if !strings.Contains(first, ".") || beneath(imported, h.Module) || slices.ContainsFunc(h.Ground, func(g string) bool { return beneath(imported, g) }) {
					continue
				}
				door := slices.IndexFunc(h.Doors, func(d Door) bool { return beneath(imported, d.Path) })
				switch {
				case door < 0:
					r.at(f, spec, "imports %s, for which there is no door: do without, or add one in internal/lint/floors.go", imported)
				case test && slices.Contains(h.Doors[door].Rooms, "test"):
				case !slices.Contains(h.Doors[door].Rooms, p.Dir):
					r.at(f, spec, "imports %s, which enters only by %s", imported, strings.Join(h.Doors[door].Rooms, ", "))
				}
			}
		}
	}
}

// beneath reports whether an import path is root or lies under it.
func beneath(p, root string) bool { return p == root || strings.HasPrefix(p, root+"/") }
