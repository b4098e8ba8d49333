package lint

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// Functions that read the clock of the machine or wait on it.
var clockFuncs = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// checkPurePackages reports in packages with the mark Pure: goroutines, channels, clocks, printing, and imports
// for locks, contexts, randomness and IO.
func checkPurePackages(r *findings, h Codebase) {
	visitProductionNodes(r, h, []Mark{Pure}, func(f *File, n ast.Node) {
		r.reportIfGoStatement(f, n, "a pure package computes: return what must be done as data")
		r.reportIfChannel(f, n, false, "a pure package has no channels: return what must be done as data")
		r.reportIfClockUse(f, n, "a pure package is told the time: take it as an argument")
		if !isImportAllowedInPure(n) {
			r.reportIfForbiddenImport(f, n, "a pure package cannot need it", "context", "sync/...", "os/...", "io/...", "net/...",
				"log/...", "math/rand/...", "crypto/rand", "syscall", "k8s.io/utils/clock", h.Module+"/internal/executor")
		}
		if pkg, name := f.resolveSelector(n); pkg == "io" && name != "EOF" {
			r.reportNode(f, n, "io.%s: a pure package reads and writes nothing; only io.EOF is a value", name)
		}
		r.reportIfPrint(f, n, "a pure package says nothing: return it")
	})
}

// isImportAllowedInPure reports whether n imports net/netip or io. A pure package may import them: net/netip
// only parses addresses, and decoders return io.EOF.
func isImportAllowedInPure(n ast.Node) bool {
	spec, ok := n.(*ast.ImportSpec)
	return ok && slices.Contains([]string{"net/netip", "io"}, importPath(spec))
}

// checkTypeOnlyPackagesRunNothing checks packages with the mark Words, which declare types only. It reports
// goroutines, channels, clocks, printing, and imports for locks, randomness and most IO. Contexts, readers and
// receive-only channel types are allowed.
func checkTypeOnlyPackagesRunNothing(r *findings, h Codebase) {
	visitProductionNodes(r, h, []Mark{Words}, func(f *File, n ast.Node) {
		r.reportIfGoStatement(f, n, "words run nothing: implementations do")
		r.reportIfChannel(f, n, true, "words run nothing: a receive-only channel in a signature is the most")
		r.reportIfClockUse(f, n, "words run nothing: implementations have clocks")
		r.reportIfForbiddenImport(f, n, "words run nothing", "sync/...", "os/...", "net/...", "log/...", "math/rand/...", "crypto/rand", "syscall", h.Module+"/internal/executor")
		r.reportIfPrint(f, n, "words run nothing")
	})
}

// checkPassivePackages reports goroutines, channels, timers, waiting, printing and imports for IO in passive
// packages. A passive package starts nothing and waits only for a mutex.
func checkPassivePackages(r *findings, h Codebase) {
	visitProductionNodes(r, h, []Mark{Passive}, func(f *File, n ast.Node) {
		r.reportIfGoStatement(f, n, "a passive package starts nothing: leave it to a shell")
		r.reportIfChannel(f, n, true, "a passive package has no channels: give its caller a wake func or a method to ask")
		r.reportIfClockUse(f, n, "a passive package reads its injected clock")
		r.reportIfWaitsWithoutExecutor(f, n)
		r.reportIfForbiddenImport(f, n, "a passive package has a mutex and a clock at most", "sync/atomic", "os/...", "net/...", "math/rand/...", "crypto/rand", "syscall")
		r.reportIfPrint(f, n, "a passive package says nothing: use a hook or the slog.Logger of its Config")
		if pkg, name := f.resolveSelector(n); pkg == h.Module+"/internal/executor" && slices.Contains([]string{"Each", "NewGroup"}, name) {
			r.reportNode(f, n, "executor.%s: a passive package starts nothing: leave it to a shell", name)
		}
		if call, ok := n.(*ast.CallExpr); ok {
			if s, ok := call.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Go" {
				r.reportNode(f, n, "calls Go: a passive package starts nothing: leave it to a shell")
			}
		}
	})
}

// checkShellsUseExecutor checks each shell, a package that runs goroutines. It reports goroutines, channels,
// timers and waiting that do not use internal/executor, because a simulation could not control them. It also
// reports sources of randomness other than rand.Float64.
func checkShellsUseExecutor(r *findings, h Codebase) {
	visitProductionNodes(r, h, []Mark{Shell}, func(f *File, n ast.Node) {
		r.reportIfGoStatement(f, n, "fork by Executor.Go, a executor.Group or executor.Each, or a simulation cannot drive it")
		r.reportIfChannel(f, n, true, "wait by a executor.Event or executor.Latch, or a simulation cannot drive it; people who select get a Latch's Done")
		r.reportIfClockUse(f, n, "read and wait by executor.Over(config.Clock), or a simulation cannot drive it")
		r.reportIfWaitsWithoutExecutor(f, n)
		r.reportIfForbiddenImport(f, n, "chance is injected as Jitter: a shell takes math/rand/v2 for the default", "math/rand", "crypto/rand")
		if pkg, name := f.resolveSelector(n); pkg == "math/rand/v2" && name != "Float64" {
			r.reportNode(f, n, "rand.%s: the default Jitter is rand.Float64, and all other chance comes from it", name)
		}
	})
}

// visitProductionNodes calls visit for each syntax node in the production files of the packages that have one
// of the marks.
func visitProductionNodes(r *findings, h Codebase, marks []Mark, visit func(*File, ast.Node)) {
	for _, p := range r.m.Packages {
		if row, ok := h.findRow(p.Dir); !ok || !slices.Contains(marks, row.Mark) {
			continue
		}
		for _, f := range p.productionFiles() {
			ast.Inspect(f.File, func(n ast.Node) bool {
				if n != nil {
					visit(f, n)
				}
				return true
			})
		}
	}
}

// reportIfGoStatement reports n if it is a go statement.
func (r *findings) reportIfGoStatement(f *File, n ast.Node, remedy string) {
	if _, ok := n.(*ast.GoStmt); ok {
		r.reportNode(f, n, "says go: %s", remedy)
	}
}

// reportIfChannel reports n if it is a channel type, a channel operation, a select or a close. With
// allowReceiveOnly it accepts receive-only channel types, as callers select on such results.
func (r *findings) reportIfChannel(f *File, n ast.Node, allowReceiveOnly bool, remedy string) {
	switch n := n.(type) {
	case *ast.ChanType:
		if !allowReceiveOnly || n.Dir != ast.RECV {
			r.reportNode(f, n, "has a channel: %s", remedy)
		}
	case *ast.SendStmt:
		r.reportNode(f, n, "sends on a channel: %s", remedy)
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			r.reportNode(f, n, "receives from a channel: %s", remedy)
		}
	case *ast.SelectStmt:
		r.reportNode(f, n, "selects: %s", remedy)
	case *ast.CallExpr:
		if id, ok := n.Fun.(*ast.Ident); ok && id.Name == "close" && id.Obj == nil {
			r.reportNode(f, n, "closes a channel: %s", remedy)
		}
	}
}

// reportIfClockUse reports n if it names a time function that reads the clock or waits, or calls NewTimer or
// NewTicker of any clock.
func (r *findings) reportIfClockUse(f *File, n ast.Node, remedy string) {
	if pkg, name := f.resolveSelector(n); pkg == "time" && slices.Contains(clockFuncs, name) {
		r.reportNode(f, n, "time.%s: %s", name, remedy)
		return
	}
	if call, ok := n.(*ast.CallExpr); ok {
		s, ok := call.Fun.(*ast.SelectorExpr)
		if pkg, _ := f.resolveSelector(call.Fun); ok && pkg == "" && (s.Sel.Name == "NewTimer" || s.Sel.Name == "NewTicker") {
			r.reportNode(f, n, "%s: %s", s.Sel.Name, remedy)
		}
	}
}

// reportIfWaitsWithoutExecutor reports n if it names sync.WaitGroup, sync.Cond, sync.NewCond, context.AfterFunc
// or a context.With… function. Package executor has replacements for them.
func (r *findings) reportIfWaitsWithoutExecutor(f *File, n ast.Node) {
	switch pkg, name := f.resolveSelector(n); {
	case pkg == "sync" && (name == "WaitGroup" || name == "Cond" || name == "NewCond"):
		r.reportNode(f, n, "sync.%s: use a executor.Group or a executor.Event, or a simulation cannot drive it", name)
	case pkg == "context" && (strings.HasPrefix(name, "With") || name == "AfterFunc"):
		r.reportNode(f, n, "context.%s: use the executor's contexts, or a simulation cannot drive it", name)
	}
}

// reportIfForbiddenImport reports n if it imports one of the forbidden packages. A path that ends in /... also
// forbids the packages below it.
func (r *findings) reportIfForbiddenImport(f *File, n ast.Node, why string, forbidden ...string) {
	spec, ok := n.(*ast.ImportSpec)
	if !ok {
		return
	}
	imported := importPath(spec)
	for _, p := range forbidden {
		tree, all := strings.CutSuffix(p, "/...")
		if imported == p || all && isSameOrBelow(imported, tree) {
			r.reportNode(f, n, "imports %s: %s", imported, why)
		}
	}
}

// reportIfPrint reports n if it names a Print function of fmt.
func (r *findings) reportIfPrint(f *File, n ast.Node, remedy string) {
	if pkg, name := f.resolveSelector(n); pkg == "fmt" && strings.HasPrefix(name, "Print") {
		r.reportNode(f, n, "fmt.%s: %s", name, remedy)
	}
}
