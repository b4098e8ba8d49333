package lint

import "go/ast"

// checkOpenRootAndRemoveAll reports uses of RemoveAll and OpenRoot from any package but internal/osfile. os.OpenRoot
// blocks on a FIFO, and os.RemoveAll descends into mounts, which may be directories of the host. Tests, kits
// and tools are exempt.
func checkOpenRootAndRemoveAll(r *findings, h Codebase) {
	const only = "internal/osfile"
	for _, p := range r.m.Packages {
		if row, _ := h.findRow(p.Dir); p.Dir == only || row.Mark == Kit || row.Mark == Tool {
			continue
		}
		for _, f := range p.productionFiles() {
			ast.Inspect(f.File, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if pkg, _ := f.resolveSelector(n); !ok || pkg == h.Module+"/"+only {
					return true
				}
				switch s.Sel.Name {
				case "RemoveAll":
					r.reportNode(f, n, "RemoveAll goes on into what is mounted below: use osfile.RemoveAll")
				case "OpenRoot":
					r.reportNode(f, n, "OpenRoot waits for the other end of a FIFO: use osfile.OpenDir or osfile.OpenSubdir")
				}
				return true
			})
		}
	}
}
