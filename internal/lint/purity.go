package lint

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// Functions that read the clock of the machine or wait on it.
var clockFuncs = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// checkPurePackages reports goroutines, channels, locks, clocks, randomness and IO in pure packages.
func checkPurePackages(r *findings, h Codebase) {
	visitProductionNodes(r, h, []Mark{Pure}, func(f *File, n ast.Node) {
		r.reportGoStatements(f, n, "a pure package computes: return what must be done as data")
		r.reportChannels(f, n, false, "a pure package has no channels: return what must be done as data")
		r.reportClockUse(f, n, "a pure package is told the time: take it as an argument")
		if !isPureInputOutput(n) {
			r.reportImports(f, n, "a pure package cannot need it", "context", "sync/...", "os/...", "io/...", "net/...",
				"log/...", "math/rand/...", "crypto/rand", "syscall", "k8s.io/utils/clock", h.Module+"/internal/executor")
		}
		if pkg, name := f.resolveSelector(n); pkg == "io" && name != "EOF" {
			r.reportNode(f, n, "io.%s: a pure package reads and writes nothing; only io.EOF is a value", name)
		}
		r.reportPrints(f, n, "a pure package says nothing: return it")
	})
}

// isPureInputOutput reports whether a pure package may use a name of an IO package. net/netip parses addresses and opens
// nothing. io.EOF is allowed, as decoders of bytes in memory return it.
func isPureInputOutput(n ast.Node) bool {
	spec, ok := n.(*ast.ImportSpec)
	return ok && slices.Contains([]string{"net/netip", "io"}, importPath(spec))
}

// checkTypePackages reports code in packages of types. Contexts, readers and receive-only channels are allowed in their
// signatures.
func checkTypePackages(r *findings, h Codebase) {
	visitProductionNodes(r, h, []Mark{Words}, func(f *File, n ast.Node) {
		r.reportGoStatements(f, n, "words run nothing: implementations do")
		r.reportChannels(f, n, true, "words run nothing: a receive-only channel in a signature is the most")
		r.reportClockUse(f, n, "words run nothing: implementations have clocks")
		r.reportImports(f, n, "words run nothing", "sync/...", "os/...", "net/...", "log/...", "math/rand/...", "crypto/rand", "syscall", h.Module+"/internal/executor")
		r.reportPrints(f, n, "words run nothing")
	})
}

// checkPassivePackages reports goroutines, timers and every kind of waiting, except for a mutex, in passive packages.
func checkPassivePackages(r *findings, h Codebase) {
	visitProductionNodes(r, h, []Mark{Passive}, func(f *File, n ast.Node) {
		r.reportGoStatements(f, n, "a passive package starts nothing: leave it to a shell")
		r.reportChannels(f, n, true, "a passive package has no channels: give its caller a wake func or a method to ask")
		r.reportClockUse(f, n, "a passive package reads its injected clock")
		r.reportBlockingCalls(f, n)
		r.reportImports(f, n, "a passive package has a mutex and a clock at most", "sync/atomic", "os/...", "net/...", "math/rand/...", "crypto/rand", "syscall")
		r.reportPrints(f, n, "a passive package says nothing: use a hook or the slog.Logger of its Config")
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

// checkExecutorSeam reports waiting and goroutines in a shell that do not go through internal/executor. A simulation
// could not control them.
func checkExecutorSeam(r *findings, h Codebase) {
	visitProductionNodes(r, h, []Mark{Shell}, func(f *File, n ast.Node) {
		r.reportGoStatements(f, n, "fork by Executor.Go, a executor.Group or executor.Each, or a simulation cannot drive it")
		r.reportChannels(f, n, true, "wait by a executor.Event or executor.Latch, or a simulation cannot drive it; people who select get a Latch's Done")
		r.reportClockUse(f, n, "read and wait by executor.Over(config.Clock), or a simulation cannot drive it")
		r.reportBlockingCalls(f, n)
		r.reportImports(f, n, "chance is injected as Jitter: a shell takes math/rand/v2 for the default", "math/rand", "crypto/rand")
		if pkg, name := f.resolveSelector(n); pkg == "math/rand/v2" && name != "Float64" {
			r.reportNode(f, n, "rand.%s: the default Jitter is rand.Float64, and all other chance comes from it", name)
		}
	})
}

// visitProductionNodes calls visit for each syntax node in the production files of the packages with one of the marks.
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

// reportGoStatements reports a node that is a go statement.
func (r *findings) reportGoStatements(f *File, n ast.Node, do string) {
	if _, ok := n.(*ast.GoStmt); ok {
		r.reportNode(f, n, "says go: %s", do)
	}
}

// reportChannels reports a node that is a channel type or operation. With receiveOnly it lets a receive-only channel type
// pass, as callers select on such results.
func (r *findings) reportChannels(f *File, n ast.Node, receiveOnly bool, do string) {
	switch n := n.(type) {
	case *ast.ChanType:
		if !receiveOnly || n.Dir != ast.RECV {
			r.reportNode(f, n, "has a channel: %s", do)
		}
	case *ast.SendStmt:
		r.reportNode(f, n, "sends on a channel: %s", do)
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			r.reportNode(f, n, "receives from a channel: %s", do)
		}
	case *ast.SelectStmt:
		r.reportNode(f, n, "selects: %s", do)
	case *ast.CallExpr:
		if id, ok := n.Fun.(*ast.Ident); ok && id.Name == "close" && id.Obj == nil {
			r.reportNode(f, n, "closes a channel: %s", do)
		}
	}
}

// reportClockUse reports a node that reads the clock of the machine or makes a timer of any clock.
func (r *findings) reportClockUse(f *File, n ast.Node, do string) {
	if pkg, name := f.resolveSelector(n); pkg == "time" && slices.Contains(clockFuncs, name) {
		r.reportNode(f, n, "time.%s: %s", name, do)
		return
	}
	if call, ok := n.(*ast.CallExpr); ok {
		s, ok := call.Fun.(*ast.SelectorExpr)
		if pkg, _ := f.resolveSelector(call.Fun); ok && pkg == "" && (s.Sel.Name == "NewTimer" || s.Sel.Name == "NewTicker") {
			r.reportNode(f, n, "%s: %s", s.Sel.Name, do)
		}
	}
}

// reportBlockingCalls reports a call that blocks without the executor, such as a method of sync.WaitGroup.
func (r *findings) reportBlockingCalls(f *File, n ast.Node) {
	switch pkg, name := f.resolveSelector(n); {
	case pkg == "sync" && (name == "WaitGroup" || name == "Cond" || name == "NewCond"):
		r.reportNode(f, n, "sync.%s: use a executor.Group or a executor.Event, or a simulation cannot drive it", name)
	case pkg == "context" && (strings.HasPrefix(name, "With") || name == "AfterFunc"):
		r.reportNode(f, n, "context.%s: use the executor's contexts, or a simulation cannot drive it", name)
	}
}

// reportImports reports an import of one of the forbidden packages. A path that ends in /... also forbids the packages
// below it.
func (r *findings) reportImports(f *File, n ast.Node, why string, forbidden ...string) {
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

// reportPrints reports a call that writes to standard output or standard error.
func (r *findings) reportPrints(f *File, n ast.Node, do string) {
	if pkg, name := f.resolveSelector(n); pkg == "fmt" && strings.HasPrefix(name, "Print") {
		r.reportNode(f, n, "fmt.%s: %s", name, do)
	}
}
