package lint

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// The functions that read the clock of the machine or wait on it.
var clockFuncs = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// pure forbids everything but computation.
func pure(r *findings, h Codebase) {
	eachSource(r, h, []Mark{Pure}, func(f *File, n ast.Node) {
		r.forks(f, n, "a pure package computes: return what must be done as data")
		r.channels(f, n, false, "a pure package has no channels: return what must be done as data")
		r.clock(f, n, "a pure package is told the time: take it as an argument")
		if !computes(n) {
			r.imports(f, n, "a pure package cannot need it", "context", "sync/...", "os/...", "io/...", "net/...",
				"log/...", "math/rand/...", "crypto/rand", "syscall", "k8s.io/utils/clock", h.Module+"/internal/executor")
		}
		if pkg, name := f.selected(n); pkg == "io" && name != "EOF" {
			r.at(f, n, "io.%s: a pure package reads and writes nothing; only io.EOF is a value", name)
		}
		r.prints(f, n, "a pure package says nothing: return it")
	})
}

// computes is true of the imports from input and output that a pure package may have, by
// name: net/netip parses addresses and opens nothing; io is there for io.EOF, which
// decoders over bytes in memory return.
func computes(n ast.Node) bool {
	spec, ok := n.(*ast.ImportSpec)
	return ok && slices.Contains([]string{"net/netip", "io"}, importPath(spec))
}

// words forbids whatever runs. Contexts, readers and receive-only channels are
// words too, and a type may speak of them.
func words(r *findings, h Codebase) {
	eachSource(r, h, []Mark{Words}, func(f *File, n ast.Node) {
		r.forks(f, n, "words run nothing: implementations do")
		r.channels(f, n, true, "words run nothing: a receive-only channel in a signature is the most")
		r.clock(f, n, "words run nothing: implementations have clocks")
		r.imports(f, n, "words run nothing", "sync/...", "os/...", "net/...", "log/...", "math/rand/...", "crypto/rand", "syscall", h.Module+"/internal/executor")
		r.prints(f, n, "words run nothing")
	})
}

// passive forbids whatever starts something or needs more than a mutex.
func passive(r *findings, h Codebase) {
	eachSource(r, h, []Mark{Passive}, func(f *File, n ast.Node) {
		r.forks(f, n, "a passive package starts nothing: leave it to a shell")
		r.channels(f, n, true, "a passive package has no channels: give its caller a wake func or a method to ask")
		r.clock(f, n, "a passive package reads its injected clock")
		r.blockers(f, n)
		r.imports(f, n, "a passive package has a mutex and a clock at most", "sync/atomic", "os/...", "net/...", "math/rand/...", "crypto/rand", "syscall")
		r.prints(f, n, "a passive package says nothing: use a hook or the slog.Logger of its Config")
		if pkg, name := f.selected(n); pkg == h.Module+"/internal/executor" && slices.Contains([]string{"Each", "NewGroup"}, name) {
			r.at(f, n, "executor.%s: a passive package starts nothing: leave it to a shell", name)
		}
		if call, ok := n.(*ast.CallExpr); ok {
			if s, ok := call.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Go" {
				r.at(f, n, "calls Go: a passive package starts nothing: leave it to a shell")
			}
		}
	})
}

// seam forbids in a shell every way to wait or fork that a simulation cannot see.
func seam(r *findings, h Codebase) {
	eachSource(r, h, []Mark{Shell}, func(f *File, n ast.Node) {
		r.forks(f, n, "fork by Executor.Go, a executor.Group or executor.Each, or a simulation cannot drive it")
		r.channels(f, n, true, "wait by a executor.Event or executor.Latch, or a simulation cannot drive it; people who select get a Latch's Done")
		r.clock(f, n, "read and wait by executor.Over(config.Clock), or a simulation cannot drive it")
		r.blockers(f, n)
		r.imports(f, n, "chance is injected as Jitter: a shell takes math/rand/v2 for the default", "math/rand", "crypto/rand")
		if pkg, name := f.selected(n); pkg == "math/rand/v2" && name != "Float64" {
			r.at(f, n, "rand.%s: the default Jitter is rand.Float64, and all other chance comes from it", name)
		}
	})
}

// eachSource visits every node of the packages with one of the marks.
func eachSource(r *findings, h Codebase, marks []Mark, visit func(*File, ast.Node)) {
	for _, p := range r.m.Packages {
		if row, ok := h.row(p.Dir); !ok || !slices.Contains(marks, row.Mark) {
			continue
		}
		for _, f := range p.sources() {
			ast.Inspect(f.File, func(n ast.Node) bool {
				if n != nil {
					visit(f, n)
				}
				return true
			})
		}
	}
}

// forks reports go statements.
func (r *findings) forks(f *File, n ast.Node, do string) {
	if _, ok := n.(*ast.GoStmt); ok {
		r.at(f, n, "says go: %s", do)
	}
}

// channels reports channel types and operations; with receiveOnly, a type that
// can only be received from passes, as a result for people who select.
func (r *findings) channels(f *File, n ast.Node, receiveOnly bool, do string) {
	switch n := n.(type) {
	case *ast.ChanType:
		if !receiveOnly || n.Dir != ast.RECV {
			r.at(f, n, "has a channel: %s", do)
		}
	case *ast.SendStmt:
		r.at(f, n, "sends on a channel: %s", do)
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			r.at(f, n, "receives from a channel: %s", do)
		}
	case *ast.SelectStmt:
		r.at(f, n, "selects: %s", do)
	case *ast.CallExpr:
		if id, ok := n.Fun.(*ast.Ident); ok && id.Name == "close" && id.Obj == nil {
			r.at(f, n, "closes a channel: %s", do)
		}
	}
}

// clock reports uses of the machine's clock, and timers of any.
func (r *findings) clock(f *File, n ast.Node, do string) {
	if pkg, name := f.selected(n); pkg == "time" && slices.Contains(clockFuncs, name) {
		r.at(f, n, "time.%s: %s", name, do)
		return
	}
	if call, ok := n.(*ast.CallExpr); ok {
		s, ok := call.Fun.(*ast.SelectorExpr)
		if pkg, _ := f.selected(call.Fun); ok && pkg == "" && (s.Sel.Name == "NewTimer" || s.Sel.Name == "NewTicker") {
			r.at(f, n, "%s: %s", s.Sel.Name, do)
		}
	}
}

// blockers reports what blocks in a way of its own.
func (r *findings) blockers(f *File, n ast.Node) {
	switch pkg, name := f.selected(n); {
	case pkg == "sync" && (name == "WaitGroup" || name == "Cond" || name == "NewCond"):
		r.at(f, n, "sync.%s: use a executor.Group or a executor.Event, or a simulation cannot drive it", name)
	case pkg == "context" && (strings.HasPrefix(name, "With") || name == "AfterFunc"):
		r.at(f, n, "context.%s: use the executor's contexts, or a simulation cannot drive it", name)
	}
}

// imports reports imports of the packages, or, for one that ends in /..., of
// anything beneath it too.
func (r *findings) imports(f *File, n ast.Node, why string, forbidden ...string) {
	spec, ok := n.(*ast.ImportSpec)
	if !ok {
		return
	}
	imported := importPath(spec)
	for _, p := range forbidden {
		tree, all := strings.CutSuffix(p, "/...")
		if imported == p || all && beneath(imported, tree) {
			r.at(f, n, "imports %s: %s", imported, why)
		}
	}
}

// prints reports what writes to the standard streams.
func (r *findings) prints(f *File, n ast.Node, do string) {
	if pkg, name := f.selected(n); pkg == "fmt" && strings.HasPrefix(name, "Print") {
		r.at(f, n, "fmt.%s: %s", name, do)
	}
}
