package lint

import (
	"go/ast"
	"slices"
	"strings"
)

// sleeps wants tests and kits that wait for what happens and not for luck. Time
// is slept away in bubbles only: in a function literal or named function given
// to synctest.Test, or in a function whose comment says "in a bubble".
func sleeps(r *findings, h Codebase) {
	for _, p := range r.m.Packages {
		row, _ := h.row(p.Dir)
		bubbled := bubbledFuncs(p)
		for _, f := range p.Files {
			if !f.Test && row.Mark != Kit {
				continue
			}
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || bubbled[fn.Name.Name] || strings.Contains(fn.Doc.Text(), "in a bubble") {
					continue
				}
				outsideBubbles(f, fn, func(n ast.Node) { luck(r, f, n) })
			}
		}
	}
}

// bubbledFuncs are the functions that are given to synctest.Test by name.
func bubbledFuncs(p *Package) map[string]bool {
	names := map[string]bool{}
	for _, f := range p.Files {
		ast.Inspect(f.File, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && isBubble(f, call) && len(call.Args) == 2 {
				if id, ok := call.Args[1].(*ast.Ident); ok {
					names[id.Name] = true
				}
			}
			return true
		})
	}
	return names
}

// isBubble reports whether a call is one of synctest.Test.
func isBubble(f *File, call *ast.CallExpr) bool {
	pkg, name := f.selected(call.Fun)
	return pkg == "testing/synctest" && name == "Test"
}

// outsideBubbles visits all of a function but what runs in virtual time.
func outsideBubbles(f *File, fn *ast.FuncDecl, visit func(ast.Node)) {
	ast.Inspect(fn, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && isBubble(f, call) {
			return false
		}
		if n != nil {
			visit(n)
		}
		return true
	})
}

// luck reports a sleep or a poll.
func luck(r *findings, f *File, n ast.Node) {
	pkg, name := f.selected(n)
	_, base, _ := strings.Cut(pkg, "testify/")
	switch {
	case pkg == "time" && slices.Contains([]string{"Sleep", "After", "Tick", "NewTimer", "NewTicker"}, name):
		r.at(f, n, "time.%s outside a bubble: wait for what happens, or use synctest or executor.NewScheduler", name)
	case (base == "require" || base == "assert") && slices.Contains([]string{"Eventually", "Eventuallyf", "EventuallyWithT", "EventuallyWithTf", "Never", "Neverf"}, name):
		r.at(f, n, "%s.%s polls: wait for what happens, or use synctest or executor.NewScheduler", base, name)
	case pkg == "runtime" && name == "Gosched":
		r.at(f, n, "runtime.Gosched hopes for luck: wait for what happens, or use synctest or executor.NewScheduler")
	}
}

// leaks wants every package that starts something to have its tests fail when
// something of it is left running.
func leaks(r *findings, h Codebase) {
	for _, p := range r.m.Packages {
		row, _ := h.row(p.Dir)
		if row.Mark != Shell && row.Mark != Seam && (row.Mark != Edge || !saysGo(p)) {
			continue
		}
		if !slices.ContainsFunc(p.tests(), verifiesLeaks) {
			r.on(p.Dir, "starts things, and its tests do not notice what is left of them: func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }")
		}
	}
}

// saysGo reports whether a package has a go statement of its own.
func saysGo(p *Package) bool {
	found := false
	for _, f := range p.sources() {
		ast.Inspect(f.File, func(n ast.Node) bool {
			_, ok := n.(*ast.GoStmt)
			found = found || ok
			return true
		})
	}
	return found
}

// verifiesLeaks reports whether a test file calls goleak.VerifyTestMain.
func verifiesLeaks(f *File) bool {
	found := false
	ast.Inspect(f.File, func(n ast.Node) bool {
		pkg, name := f.selected(n)
		found = found || pkg == "go.uber.org/goleak" && name == "VerifyTestMain"
		return true
	})
	return found
}
