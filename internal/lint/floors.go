package lint

import "path"

// Mark says what a package may do.
type Mark string

// The marks of the architecture.
const (
	// Words are types and interfaces; they run nothing.
	Words Mark = "words"
	// Pure is computation: no goroutine, channel, lock, context, clock,
	// randomness or IO.
	Pure Mark = "pure"
	// Quiet has a mutex and an injected clock at most; it starts nothing.
	Quiet Mark = "quiet"
	// Shell has goroutines and timers, under Run, through the seam.
	Shell Mark = "shell"
	// Edge talks to the outside, by whatever means that takes.
	Edge Mark = "edge"
	// Kit is for tests, ours or a stranger's. It may wait and fork by any means,
	// since it also drives what is real; it does not sleep for luck.
	Kit Mark = "kit"
	// Seam is internal/executor, the one place with goroutines and channels.
	Seam Mark = "seam"
	// Main is a program.
	Main Mark = "main"
	// Tool is part of the house's own machinery.
	Tool Mark = "tool"
)

// Floor is how high a package stands. Imports point to strictly lower floors.
type Floor int

// The floors of the architecture page.
const (
	// Floor1a has the words and the seam.
	Floor1a Floor = iota
	// Floor1b has what several decisions have to agree on.
	Floor1b
	// Floor1c has the pure cores.
	Floor1c
	// Floor2 has the quiet ones.
	Floor2
	// Floor3 has the shells.
	Floor3
	// Floor4 has the edges and the test kits.
	Floor4
	// Floor5a has the loop.
	Floor5a
	// Floor5b has the assembled node and what is attached to it.
	Floor5b
	// Floor5c has the simulated node.
	Floor5c
	// Floor6 has the programs.
	Floor6
)

// String is the floor's name on the architecture page.
func (f Floor) String() string {
	return [...]string{"1a", "1b", "1c", "2", "3", "4", "5a", "5b", "5c", "6"}[f]
}

// Room is a package of the house.
type Room struct {
	Dir   string // a star stands for one element of the path
	Mark  Mark
	Floor Floor
}

// Stair is an import that does not point down and is right all the same. One
// that nobody uses is a finding.
type Stair struct{ From, To, Why string }

// Door is how a dependency beyond floor 0 gets in.
type Door struct {
	Path  string   // the import path, and all beneath it
	Rooms []string // where it may be imported; "test" stands for tests and kits
}

// House is what the rules are about.
type House struct {
	Module       string
	TopLevel     []string // besides dot files
	Rooms        []Room
	Stairs       []Stair
	Ground       []string // floor 0 besides the standard library: anybody may import these
	Doors        []Door
	Tiers        map[string]Tier // by directory
	Hidden       []string        // types that exported names show and nobody can name, to be exported
	Unruled      []string        // packages that cite rules and have no RULES.md yet
	Uncontracted []string        // packages whose comments are too long yet, or cite rules
	Limits       Limits
	// Simulated are the runtimes that only tests and simulations run on.
	Simulated []string
}

// Podkeel is the architecture of this repository.
func Podkeel() House {
	return House{
		Module:       "github.com/podkeel/podkeel",
		Tiers:        tiers,
		Hidden:       hiddenTypes,
		Unruled:      unruled,
		Uncontracted: uncontracted,
		Limits:       Limits{FileLines: 490, FunctionLines: 22, ProductionLines: 39_000},
		Simulated:    []string{"runtime/memory", "runtime/faulty"},
		TopLevel: []string{
			"podworkers", "podmanager", "workqueue", "pleg", "syncloop", "runtime", "examples", "internal",
			"go.mod", "go.sum", "README.md", "LICENSE", "CHANGELOG.md",
		},
		Rooms: []Room{
			// The words, in which everybody speaks of pods and containers; and
			// what a shell and a quiet package are made of.
			{"runtime", Words, Floor1a},
			{"internal/executor", Seam, Floor1a},
			{"internal/dirty", Quiet, Floor1a},
			{"internal/containers", Pure, Floor1a},
			{"internal/errtree", Pure, Floor1a},
			{"internal/poduid", Pure, Floor1a},
			{"internal/keylock", Quiet, Floor1a},
			{"internal/osfile", Edge, Floor1a},
			{"internal/plain", Pure, Floor1a},

			// What several decisions have to agree on.
			{"podworkers/podsync/podstatus", Pure, Floor1b},
			{"internal/resources", Pure, Floor1b},
			{"internal/deadline", Pure, Floor1b},
			{"internal/document", Quiet, Floor1b},
			{"internal/contain", Quiet, Floor1b},

			// The decisions. Time comes as an argument, effects go as data.
			{"podworkers/lifecycle", Pure, Floor1c},
			{"podworkers/internal/echo", Pure, Floor1c},
			{"podworkers/podsync/plan", Pure, Floor1c},
			{"podworkers/podsync/internal/environ", Pure, Floor1c},
			{"podworkers/podsync/internal/volume", Pure, Floor1c},
			{"podworkers/prober/verdict", Pure, Floor1c},
			{"podworkers/podsync/images/internal/registry", Pure, Floor1c},
			{"syncloop/gc/policy", Pure, Floor1c},
			{"podmanager/source/internal/merge", Pure, Floor1c},
			{"podmanager/status/internal/reconcile", Pure, Floor1c},
			{"podmanager/status/internal/outbox", Pure, Floor1c},
			{"pleg/internal/diff", Pure, Floor1c},
			{"runtime/cri/internal/convert", Pure, Floor1c},
			{"syncloop/node/explain", Pure, Floor1c},
			{"syncloop/internal/usage", Pure, Floor1c},
			{"syncloop/internal/waiting", Pure, Floor1c},
			{"syncloop/internal/orphans", Pure, Floor1c},
			{"runtime/cri/internal/crilog", Pure, Floor1c},

			// State behind a mutex that starts nothing by itself.
			{"workqueue", Quiet, Floor2},
			{"podworkers/podsync/internal/find", Quiet, Floor2},
			{"podmanager", Quiet, Floor2},
			{"runtime/memory", Quiet, Floor2},
			{"podworkers/podsync/images", Quiet, Floor2},
			{"runtime/faulty", Quiet, Floor2},

			// What runs, under Run(ctx).
			{"podworkers", Shell, Floor3},
			{"podworkers/podsync", Shell, Floor3},
			{"podworkers/prober", Shell, Floor3},
			{"pleg", Shell, Floor3},
			{"podmanager/source", Shell, Floor3},
			{"podmanager/status", Shell, Floor3},
			{"runtime/cri/internal/logfile", Edge, Floor3},
			{"runtime/cri/internal/streaming", Edge, Floor3},

			// The outside, and what tests the inside.
			{"podmanager/source/manifest", Edge, Floor4},
			{"podmanager/checkpoint", Edge, Floor4},
			{"podworkers/podsync/volumes/inmemory", Quiet, Floor4},
			{"podworkers/podsync/volumes", Edge, Floor4},
			{"podworkers/podsync/objects", Edge, Floor4},
			{"syncloop/gc/logfiles", Edge, Floor4},
			{"podworkers/prober/check", Edge, Floor4},
			{"podworkers/prober/grpccheck", Edge, Floor4},
			{"podworkers/podsync/hookhttp", Edge, Floor4},
			{"runtime/cri", Edge, Floor4},
			{"podworkers/podworkerstest", Kit, Floor4},
			{"runtime/runtimetest", Kit, Floor4},

			// The whole, from its rhythm to its simulation.
			{"syncloop", Shell, Floor5a},
			{"syncloop/gc", Shell, Floor5a},
			{"syncloop/node", Shell, Floor5b},
			{"syncloop/debug", Edge, Floor5b},
			{"syncloop/nodetest", Kit, Floor5c},

			{"examples/*", Main, Floor6},
			{"internal/e2e", Kit, Floor6},
			{"internal/e2e/figures", Main, Floor6},
			{"internal/lint", Tool, Floor6},
		},
		Stairs: []Stair{
			{"podworkers/podsync/internal/volume", "podworkers/podsync/internal/environ", "files of the downward API tell what variables do"},
			{"syncloop/internal/waiting", "syncloop/internal/usage", "who waits is decided by what pods take together"},
			{"syncloop/internal/orphans", "syncloop/internal/usage", "whose name or port is needed is told by what pods take together"},
			{"podworkers/podsync", "podworkers", "it implements the workers' PodSyncer"},
			{"internal/e2e/figures", "internal/e2e", "it measures on what the tests are run on"},
		},
		Ground: []string{"k8s.io/api", "k8s.io/apimachinery", "k8s.io/utils/clock"},
		Doors: []Door{
			{"k8s.io/client-go", []string{"podmanager/apiserver"}},
			{"k8s.io/cri-api", []string{"runtime/cri", "runtime/cri/internal/convert", "internal/e2e", "internal/e2e/figures"}},
			{"k8s.io/streaming", []string{"runtime/cri/internal/streaming", "test"}},
			{"google.golang.org/grpc", []string{"runtime/cri", "podworkers/prober/grpccheck", "internal/e2e"}},
			{"github.com/prometheus", []string{"syncloop/metrics"}},
			{"github.com/fsnotify/fsnotify", []string{"podmanager/source/manifest"}},
			{"sigs.k8s.io/yaml", []string{"test"}},
			{"go.yaml.in/yaml/v3", []string{"internal/document"}},
			{"golang.org/x/term", []string{"examples/agent"}},
			{"golang.org/x/sys", []string{"internal/osfile"}},
			{"github.com/stretchr/testify", []string{"test"}},
			{"github.com/cockroachdb/datadriven", []string{"test"}},
			{"go.uber.org/goleak", []string{"test"}},
			{"pgregory.net/rapid", []string{"test"}},
		},
	}
}

// room finds a package in the table.
func (h House) room(dir string) (Room, bool) {
	for _, r := range h.Rooms {
		if ok, _ := path.Match(r.Dir, dir); ok {
			return r, true
		}
	}
	return Room{}, false
}
