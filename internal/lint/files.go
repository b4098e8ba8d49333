package lint

import "go/ast"

// files wants directories to be opened and trees to be removed only by
// internal/osfile: os.OpenRoot waits for the other end of a FIFO, and both RemoveAll of
// the standard library go on into whatever is mounted below, which may be the host's.
// Tests and kits may do as they like.
func files(r *findings, h Codebase) {
	const only = "internal/osfile"
	for _, p := range r.m.Packages {
		if row, _ := h.row(p.Dir); p.Dir == only || row.Mark == Kit || row.Mark == Tool {
			continue
		}
		for _, f := range p.sources() {
			ast.Inspect(f.File, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if pkg, _ := f.selected(n); !ok || pkg == h.Module+"/"+only {
					return true
				}
				switch s.Sel.Name {
				case "RemoveAll":
					r.at(f, n, "RemoveAll goes on into what is mounted below: use osfile.RemoveAll")
				case "OpenRoot":
					r.at(f, n, "OpenRoot waits for the other end of a FIFO: use osfile.OpenDir or osfile.OpenSubdir")
				}
				return true
			})
		}
	}
}
