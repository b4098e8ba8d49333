package lint

import (
	"go/ast"
	"slices"
	"strings"
)

// checkTestSleepsAndPolls reports sleeps and polls in tests and test kits. They are allowed in virtual time: in a function
// that the package passes to synctest.Test, or in a function whose comment says "in a bubble".
func checkTestSleepsAndPolls(r *findings, h Codebase) {
	for _, p := range r.m.Packages {
		row, _ := h.findRow(p.Dir)
		bubbled := functionsRunInBubbles(p)
		for _, f := range p.Files {
			if !f.Test && row.Mark != Kit {
				continue
			}
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || bubbled[fn.Name.Name] || strings.Contains(fn.Doc.Text(), "in a bubble") {
					continue
				}
				visitOutsideBubbles(f, fn, func(n ast.Node) { reportIfSleepOrPoll(r, f, n) })
			}
		}
	}
}

// functionsRunInBubbles returns the names of the functions that a package passes by name to synctest.Test.
func functionsRunInBubbles(p *Package) map[string]bool {
	names := map[string]bool{}
	for _, f := range p.Files {
		ast.Inspect(f.File, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && isSynctestTestCall(f, call) && len(call.Args) == 2 {
				if id, ok := call.Args[1].(*ast.Ident); ok {
					names[id.Name] = true
				}
			}
			return true
		})
	}
	return names
}

// isSynctestTestCall reports whether a call calls synctest.Test.
func isSynctestTestCall(f *File, call *ast.CallExpr) bool {
	pkg, name := f.resolveSelector(call.Fun)
	return pkg == "testing/synctest" && name == "Test"
}

// visitOutsideBubbles calls visit for each syntax node of a function, except calls of synctest.Test and the
// nodes in them.
func visitOutsideBubbles(f *File, fn *ast.FuncDecl, visit func(ast.Node)) {
	ast.Inspect(fn, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && isSynctestTestCall(f, call) {
			return false
		}
		if n != nil {
			visit(n)
		}
		return true
	})
}

// reportIfSleepOrPoll reports n if it names a sleep or timer of package time, a polling function of testify, or
// runtime.Gosched.
func reportIfSleepOrPoll(r *findings, f *File, n ast.Node) {
	pkg, name := f.resolveSelector(n)
	_, base, _ := strings.Cut(pkg, "testify/")
	switch {
	case pkg == "time" && slices.Contains([]string{"Sleep", "After", "Tick", "NewTimer", "NewTicker"}, name):
		r.reportNode(f, n, "time.%s outside a bubble: wait for what happens, or use synctest or executor.NewScheduler", name)
	case (base == "require" || base == "assert") && slices.Contains([]string{"Eventually", "Eventuallyf", "EventuallyWithT", "EventuallyWithTf", "Never", "Neverf"}, name):
		r.reportNode(f, n, "%s.%s polls: wait for what happens, or use synctest or executor.NewScheduler", base, name)
	case pkg == "runtime" && name == "Gosched":
		r.reportNode(f, n, "runtime.Gosched hopes for luck: wait for what happens, or use synctest or executor.NewScheduler")
	}
}

// checkGoroutineLeakTests reports packages that can start goroutines and whose tests do not call goleak.VerifyTestMain:
// those with the mark Shell or Seam, and those with the mark Edge that have a go statement.
func checkGoroutineLeakTests(r *findings, h Codebase) {
	for _, p := range r.m.Packages {
		row, _ := h.findRow(p.Dir)
		if row.Mark != Shell && row.Mark != Seam && (row.Mark != Edge || !hasGoStatement(p)) {
			continue
		}
		if !slices.ContainsFunc(p.testFiles(), callsVerifyTestMain) {
			r.reportFile(p.Dir, "starts things, and its tests do not notice what is left of them: func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }")
		}
	}
}

// hasGoStatement reports whether a production file of a package has a go statement.
func hasGoStatement(p *Package) bool {
	found := false
	for _, f := range p.productionFiles() {
		ast.Inspect(f.File, func(n ast.Node) bool {
			_, ok := n.(*ast.GoStmt)
			found = found || ok
			return true
		})
	}
	return found
}

// callsVerifyTestMain reports whether a test file calls goleak.VerifyTestMain.
func callsVerifyTestMain(f *File) bool {
	found := false
	ast.Inspect(f.File, func(n ast.Node) bool {
		pkg, name := f.resolveSelector(n)
		found = found || pkg == "go.uber.org/goleak" && name == "VerifyTestMain"
		return true
	})
	return found
}
