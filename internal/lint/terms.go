package lint

import (
	"fmt"
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Term is a private word of this repository and the standard word for it.
type Term struct{ Private, Standard string }

// Names returns the words that must not occur in an exported name.
func Names() []Term {
	return []Term{
		{"Amend", "PodStatusFunc"},
		{"Amends", "PodStatusFunc"},
		{"Answerer", "HandlerRunner"},
		{"Away", "RuntimeUnavailable"},
		{"Bottle", "Simulation"},
		{"Bottled", "Simulated"},
		{"Condemn", "EvictSuccessor"},
		{"Deaf", "IgnoreTerm, IgnoresContext"},
		{"Desire", "DesiredState, or Desired for what it holds"},
		{"Door", "SoleImporter"},
		{"Endings", "TerminalStatuses, TerminatingPods"},
		{"Floor", "Layer"},
		{"Futile", "NeverStarted"},
		{"House", "Codebase"},
		{"Knob", "Flag"},
		{"Knobs", "Flags"},
		{"Ledger", "Queue, Records"},
		{"Life", "Incarnation, StatusEpoch"},
		{"Lives", "Incarnations"},
		{"Nobody", "the name of the actor"},
		{"Oracle", "the invariants, a checker"},
		{"Origin", "Source"},
		{"Origins", "Sources"},
		{"Owed", "Pending"},
		{"Paper", "InMemory"},
		{"Patience", "a timeout, named by what it limits"},
		{"Picture", "Snapshot"},
		{"Pictures", "Snapshots"},
		{"Poke", "RequestSync"},
		{"Powers", "Features"},
		{"Quiet", "Passive for packages, a state for pods"},
		{"Room", "Package, Row"},
		{"Roused", "Woken"},
		{"Settle", "RunUntilIdle, Debounce"},
		{"Settled", "Idle, Ready, Stable"},
		{"Shape", "Hash"},
		{"Shelf", "Registry, Store"},
		{"Sighting", "Record"},
		{"Sightings", "Records"},
		{"Somebody", "the name of the actor"},
		{"Spare", "Exclude"},
		{"Spared", "Excluded, PodDesired"},
		{"Stranded", "SandboxLost, WaitsForRuntime"},
		{"Stubborn", "StopNotConfirmed"},
		{"Told", "Updated, Reported"},
		{"Touch", "RequestHousekeeping"},
		{"Tries", "Attempts"},
		{"Truth", "Observed"},
		{"Turn", "Executor"},
		{"Unwanted", "NotDesired"},
		{"Unwelcome", "PostStartPending"},
		{"Visit", "SyncPass"},
		{"Whoever", "the name of the actor"},
		{"World", "Harness"},
	}
}

// Phrases returns regular expressions that must not match the comment of an exported name, a doc.go or the README.
func Phrases() []Term {
	return []Term{
		{`bottled?|bottles`, "simulation, simulated"},
		{`on paper`, "in memory"},
		{`last words`, "termination message"},
		{`pictures?`, "snapshot, or figure for a drawing"},
		{`oracles?`, "invariant checker"},
		{`knobs?`, "flag, field"},
		{`sightings?`, "records"},
		{`stranded`, "waits for the runtime, has lost its sandbox"},
		{`roused`, "woken by the runtime"},
		{`condemn(s|ed)?|doomed`, "evict, evicted"},
		{`futile`, "never started"},
		{`unwelcome`, "postStart pending"},
		{`amend(s|ed|ing)? (a|the|its|final) (pod )?status`, "change the status by its PodStatusFunc"},
		{`pok(e|es|ed|ing)`, "request a sync"},
		{`unwanted`, "not desired"},
		{`of desire|desire differs|changes? of desire`, "of the desired state"},
		{`whoever`, "the caller, the reader: name the actor"},
		{`somebody|anybody|everybody`, "name the actor: the caller, another process, a controller"},
		{`nobody`, "name the actor, or say what does not happen"},
		{`(begin|begins|begun|start|starts|started) anew`, "restart, start over"},
		{`former li(fe|ves)|new life|next life|lives of`, "incarnation"},
	}
}

// checkPrivateWords reports words from Names in exported names, and phrases from Phrases in their comments, in doc.go
// files and in the README. It skips internal packages.
func checkPrivateWords(r *findings, h Codebase) {
	names := map[string]string{}
	for _, t := range Names() {
		names[t.Private] = t.Standard
	}
	phrases := compilePhrases(Phrases())
	r.reportReadmePhrases(phrases)
	for _, p := range r.m.Packages {
		if slices.Contains(strings.Split(p.Dir, "/"), "internal") {
			continue
		}
		for _, f := range p.productionFiles() {
			if f.Doc != nil && path.Base(f.Name) == "doc.go" && !slices.Contains(h.Uncontracted, p.Dir) {
				r.reportPhrases(f, f.Doc, f.Doc.Text(), phrases)
			}
			visitExportedNames(f, func(name *ast.Ident, doc *ast.CommentGroup) {
				for _, part := range splitAtCapitals(name.Name) {
					if standard, private := names[part]; private {
						r.reportNode(f, name, "%s: %q is a word of ours: say %s", name.Name, part, standard)
					}
				}
				r.reportPhrases(f, name, doc.Text(), phrases)
			})
		}
	}
}

// phrase is a Term with its compiled expression.
type phrase struct {
	private  *regexp.Regexp
	standard string
}

// compilePhrases returns for each term an expression that matches it as whole words in any case.
func compilePhrases(terms []Term) (list []phrase) {
	for _, t := range terms {
		words := strings.ReplaceAll(t.Private, " ", `\s+`)
		list = append(list, phrase{regexp.MustCompile(`(?i)\b(?:` + words + `)\b`), t.Standard})
	}
	return list
}

// reportPhrases reports each phrase that occurs in text, the comment at n.
func (r *findings) reportPhrases(f *File, n ast.Node, text string, phrases []phrase) {
	for _, p := range phrases {
		if found := p.private.FindString(text); found != "" {
			r.reportNode(f, n, "the comment says %q: say %s", strings.Join(strings.Fields(found), " "), p.standard)
		}
	}
}

// reportReadmePhrases reports each phrase in each line of README.md. It does nothing if the file cannot be
// read.
func (r *findings) reportReadmePhrases(phrases []phrase) {
	text, err := os.ReadFile(filepath.Join(r.m.Root, "README.md"))
	if err != nil {
		return
	}
	for i, line := range strings.Split(string(text), "\n") {
		for _, p := range phrases {
			if found := p.private.FindString(line); found != "" {
				r.all = append(r.all, Finding{"README.md", i + 1, r.rule, fmt.Sprintf("it says %q: say %s", found, p.standard)})
			}
		}
	}
}

// visitExportedNames calls visit for each exported name in a file, with fields and methods of exported types,
// and for its comment. The comment may be nil.
func visitExportedNames(f *File, visit func(*ast.Ident, *ast.CommentGroup)) {
	show := func(names []*ast.Ident, docs ...*ast.CommentGroup) {
		for _, name := range names {
			if name.IsExported() {
				visit(name, firstComment(docs...))
			}
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if ast.IsExported(receiverTypeName(d)) {
				show([]*ast.Ident{d.Name}, d.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					show(spec.Names, spec.Doc, spec.Comment, d.Doc)
				case *ast.TypeSpec:
					show([]*ast.Ident{spec.Name}, spec.Doc, d.Doc)
					if !spec.Name.IsExported() {
						continue
					}
					for _, field := range structFieldsOrMethods(spec.Type) {
						show(field.Names, field.Doc, field.Comment)
					}
				}
			}
		}
	}
}

// splitAtCapitals splits a name before each capital letter that does not follow another capital letter:
// PodStatusFunc into Pod, Status and Func.
func splitAtCapitals(name string) (list []string) {
	begin := 0
	for i, c := range name {
		if i > begin && unicode.IsUpper(c) && !unicode.IsUpper(rune(name[i-1])) {
			list, begin = append(list, name[begin:i]), i
		}
	}
	return append(list, name[begin:])
}
