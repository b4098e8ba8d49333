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
	// Passive has a mutex and an injected clock at most; it starts nothing.
	Passive Mark = "passive"
	// Shell has goroutines and timers, under Run, through the seam.
	Shell Mark = "shell"
	// Edge talks to the outside, by whatever means that takes.
	Edge Mark = "edge"
	// Kit packages are for tests, ours or an importer's. They may wait and fork by any means,
	// as they also drive real systems. They do not sleep or poll.
	Kit Mark = "kit"
	// Seam is internal/executor, the one place with goroutines and channels.
	Seam Mark = "seam"
	// Main is a program.
	Main Mark = "main"
	// Tool is part of the codebase's own machinery.
	Tool Mark = "tool"
)

// Layer is how high a package stands. Imports point to strictly lower layers.
type Layer int

// The layers of the architecture page.
const (
	// Layer1a has the words and the seam.
	Layer1a Layer = iota
	// Layer1b has what several decisions have to agree on.
	Layer1b
	// Layer1c has the pure cores.
	Layer1c
	// Layer2 has the passive ones.
	Layer2
	// Layer3 has the shells.
	Layer3
	// Layer4 has the edges and the test kits.
	Layer4
	// Layer5a has the loop.
	Layer5a
	// Layer5b has the assembled node and its HTTP handlers.
	Layer5b
	// Layer5c has the simulated node.
	Layer5c
	// Layer6 has the programs.
	Layer6
)

// String returns the name of the layer on the architecture page.
func (f Layer) String() string {
	return [...]string{"1a", "1b", "1c", "2", "3", "4", "5a", "5b", "5c", "6"}[f]
}

// Row is a package of the codebase.
type Row struct {
	Dir   string // a star stands for one element of the path
	Mark  Mark
	Layer Layer
}

// Stair is an import that does not point down and is allowed. A stair without such an import is a finding.
type Stair struct{ From, To, Why string }

// SoleImporter is how a dependency beyond layer 0 gets in.
type SoleImporter struct {
	Path string   // the import path, and all beneath it
	Rows []string // where it may be imported; "test" stands for tests and kits
}

// Codebase is what the rules are about.
type Codebase struct {
	Module        string
	TopLevel      []string // besides dot files
	Rows          []Row
	Stairs        []Stair
	Base          []string // layer 0 besides the standard library: anybody may import these
	SoleImporters []SoleImporter
	Tiers         map[string]Tier // by directory
	Documents     string          // the package that reads YAML
	Hidden        []string        // types in exported names that importers cannot name yet
	Unruled       []string        // packages that cite rules and have no RULES.md yet
	Uncontracted  []string        // packages whose comments are too long yet, or cite rules
	Limits        Limits
	// Simulated are the runtimes that only tests and simulations run on.
	Simulated []string
	// Cluster lists the directories that join a node to a cluster. Size counts their code apart.
	Cluster []string
}

// Podkeel returns the architecture of this repository.
func Podkeel() Codebase {
	return Codebase{
		Module:       "github.com/podkeel/podkeel",
		Tiers:        tiers,
		Hidden:       hiddenTypes,
		Unruled:      unruled,
		Uncontracted: uncontracted,
		Limits:       Limits{FileLines: 450},
		Simulated:    []string{"runtime/memory", "runtime/faulty"},
		Cluster:      []string{"syncloop/cluster", "syncloop/internal/patch", "syncloop/events", "syncloop/nodestatus", "syncloop/server"},
		TopLevel: []string{
			"podworkers", "podmanager", "workqueue", "pleg", "syncloop", "runtime", "examples", "internal",
			"go.mod", "go.sum", "README.md", "LICENSE", "CHANGELOG.md",
		},
		Rows: []Row{
			// The words, in which everybody speaks of pods and containers; and
			// what a shell and a passive package are made of.
			{"runtime", Words, Layer1a},
			{"internal", Words, Layer1a},
			{"internal/executor", Seam, Layer1a},
			{"internal/conformance", Kit, Layer1a},
			{"internal/dirty", Passive, Layer1a},
			{"internal/podspec", Pure, Layer1a},
			{"internal/keylock", Passive, Layer1a},
			{"internal/osfile", Edge, Layer1a},
			{"internal/podhttp", Edge, Layer1a},
			{"internal/plain", Pure, Layer1a},
			{"internal/podfields", Passive, Layer1a},
			{"syncloop/cluster/apiserver", Words, Layer1a},

			// What several decisions have to agree on.
			{"podmanager/podstatus", Pure, Layer1b},
			{"podmanager/podresources", Pure, Layer1b},
			{"internal/document", Pure, Layer1b},
			{"internal/contain", Passive, Layer1b},
			{"podworkers/backoff", Pure, Layer1b},

			// The decisions. Time comes as an argument, effects go as data.
			{"podworkers/lifecycle", Pure, Layer1c},
			{"podworkers/podsync/plan", Pure, Layer1c},
			{"podworkers/podsync/internal/environ", Pure, Layer1c},
			{"podworkers/podsync/internal/volume", Pure, Layer1c},
			{"podworkers/podsync/internal/refresh", Pure, Layer1c},
			{"podworkers/podsync/internal/request", Pure, Layer1c},
			{"podworkers/prober/verdict", Pure, Layer1c},
			{"syncloop/gc/policy", Pure, Layer1c},
			{"podmanager/source/internal/merge", Pure, Layer1c},
			{"podmanager/source/manifest/internal/poll", Pure, Layer1c},
			{"podmanager/status/reconcile", Pure, Layer1c},
			{"podmanager/validation", Pure, Layer1c},
			{"podmanager/status/internal/outbox", Pure, Layer1c},
			{"syncloop/internal/patch", Pure, Layer1c},
			{"syncloop/nodestatus", Pure, Layer1c},
			{"pleg/internal/diff", Pure, Layer1c},
			{"runtime/cri/internal/convert", Pure, Layer1c},
			{"syncloop/node/explain", Pure, Layer1c},
			{"syncloop/internal/watchcache", Pure, Layer1c},
			{"syncloop/timeline", Pure, Layer1c},
			{"syncloop/allocation", Pure, Layer1c},
			{"syncloop/eviction", Pure, Layer1c},
			{"syncloop/internal/usage", Pure, Layer1c},
			{"syncloop/internal/respond", Edge, Layer4},
			{"syncloop/internal/inprocess", Edge, Layer3},
			{"runtime/cri/internal/crilog", Pure, Layer1c},

			// State behind a mutex that starts nothing by itself.
			{"workqueue", Passive, Layer2},
			{"syncloop/timeline/recorder", Passive, Layer2},
			{"syncloop/timeline/page", Pure, Layer2},
			{"podworkers/podsync/internal/find", Passive, Layer2},
			{"podmanager", Passive, Layer2},
			{"runtime/memory/internal/files", Passive, Layer1b},
			{"runtime/memory/internal/console", Shell, Layer1b},
			{"runtime/memory", Passive, Layer2},
			{"podworkers/podsync/images", Passive, Layer2},
			{"runtime/faulty", Passive, Layer2},

			// What runs, under Run(ctx).
			{"podworkers", Shell, Layer3},
			{"podworkers/podsync", Shell, Layer3},
			{"podworkers/prober", Shell, Layer3},
			{"pleg", Shell, Layer3},
			{"podmanager/source", Shell, Layer3},
			{"podmanager/status", Shell, Layer3},
			{"syncloop/cluster/contact", Shell, Layer3},
			{"syncloop/cluster/mirror", Shell, Layer3},
			{"syncloop/cluster/nodeagent", Shell, Layer3},
			{"syncloop/events", Shell, Layer3},
			{"runtime/cri/internal/logfile", Edge, Layer3},
			{"runtime/cri/internal/streaming", Edge, Layer3},

			// The outside, and what tests the inside.
			{"syncloop/cluster/feed/internal/follow", Pure, Layer2},
			{"syncloop/events/internal/correlate", Pure, Layer2},
			{"syncloop/cluster/feed", Shell, Layer4},
			{"syncloop/cluster/statussink", Passive, Layer4},
			{"syncloop/cluster/internal/objects", Shell, Layer5a},
			{"podmanager/source/manifest", Edge, Layer4},
			{"podmanager/checkpoint", Edge, Layer4},
			{"syncloop/cluster/client", Edge, Layer4},
			{"syncloop/cluster/internal/review", Edge, Layer4},
			{"podworkers/podsync/volumes/inmemory", Passive, Layer4},
			{"podworkers/podsync/volumes", Edge, Layer4},
			{"podworkers/podsync/objects", Edge, Layer4},
			{"syncloop/gc/logfiles", Edge, Layer4},
			{"podworkers/prober/check", Edge, Layer4},
			{"podworkers/prober/grpccheck", Edge, Layer4},
			{"podworkers/podsync/hookhttp", Edge, Layer4},
			{"runtime/cri", Edge, Layer4},
			{"runtime/cgroups", Edge, Layer4},
			{"syncloop/eviction/observe", Edge, Layer4},
			{"internal/proportion", Kit, Layer4},
			{"internal/longtest", Kit, Layer4},
			{"internal/figure", Kit, Layer4},
			{"podmanager/podtest", Kit, Layer4},
			{"podmanager/status/statustest", Kit, Layer4},
			{"podworkers/podworkerstest", Kit, Layer4},
			{"podworkers/podsyncertest", Kit, Layer4},
			{"podworkers/podsync/volumestest", Kit, Layer4},
			{"runtime/runtimetest", Kit, Layer4},
			{"runtime/cgroups/cgroupstest", Kit, Layer4},
			{"workqueue/workqueuetest", Kit, Layer4},
			{"podmanager/source/sourcetest", Kit, Layer4},
			{"syncloop/cluster/apiservertest", Kit, Layer4},

			// The whole, from its rhythm to its simulation.
			{"syncloop", Shell, Layer5a},
			{"syncloop/gc", Shell, Layer5a},
			{"syncloop/eviction/evictor", Shell, Layer5a},
			{"syncloop/node", Shell, Layer5b},
			{"syncloop/debug", Edge, Layer5b},
			{"syncloop/server", Edge, Layer5b},
			{"syncloop/cluster", Shell, Layer5c},
			{"syncloop/localapi", Edge, Layer5c},
			{"syncloop/localapi/internal/created", Pure, Layer1c},
			{"syncloop/metrics", Edge, Layer5c},
			{"syncloop/stats", Edge, Layer5c},
			{"syncloop/node/statedir", Edge, Layer5c},
			{"syncloop/nodetest", Kit, Layer5c},

			{"examples/internal/command", Tool, Layer5c}, // Of programs, which are not counted as production code either.
			{"examples/tour/internal/tourtest", Kit, Layer5c},
			{"examples/*", Main, Layer6},
			{"examples/tour/*", Main, Layer6},
			{"syncloop/cluster/clustertest", Kit, Layer6},
			{"internal/e2e", Kit, Layer6},
			{"internal/benchratio", Main, Layer6},
			{"internal/cgroupvm", Main, Layer6},
			{"internal/compat", Main, Layer6},
			{"internal/e2e/figures", Main, Layer6},
			{"internal/lint", Tool, Layer6},
			{"internal/podfields/generate", Main, Layer6},
		},
		Stairs: []Stair{
			{"podworkers/podsync/internal/volume", "podworkers/podsync/internal/environ", "files of the downward API tell what variables do"},
			{"podworkers/podsync/internal/request", "podworkers/podsync/internal/environ", "the variables of a container are a part of what the runtime is asked for"},
			{"podworkers/podsync", "podworkers", "it implements the workers' PodSyncer"},
			{"examples/internal/command", "syncloop/metrics", "the programs count alike"},
			{"syncloop/cluster", "syncloop/stats", "a joined node serves its summary without being asked"},
			{"internal/e2e/figures", "internal/e2e", "it measures on what the tests are run on"},
		},
		Documents: "internal/document",
		Base:      []string{"k8s.io/api", "k8s.io/apimachinery", "k8s.io/utils/clock"},
		SoleImporters: []SoleImporter{
			{"k8s.io/client-go", []string{"syncloop/cluster/client", "syncloop/cluster/clustertest"}},
			{"k8s.io/cri-api", []string{"runtime/cri", "runtime/cri/internal/convert", "internal/e2e", "internal/e2e/figures"}},
			{"k8s.io/apimachinery/pkg/util/strategicpatch", []string{"syncloop/localapi", "test"}},
			{"gopkg.in/evanphx/json-patch.v4", []string{"syncloop/localapi", "test"}},
			{"sigs.k8s.io/structured-merge-diff", []string{"test"}}, // Its sets of fields are arguments of managedfields.
			{"k8s.io/klog", []string{"syncloop", "test"}},           // Its Logger is an argument of k8s.io/api.
			{"k8s.io/component-helpers", []string{"test"}},
			{"k8s.io/kubelet", []string{"syncloop/stats", "test"}},
			{"k8s.io/streaming", []string{"runtime/cri/internal/streaming", "syncloop/server", "test"}},
			{"golang.org/x/net", []string{"syncloop/server"}},
			{"github.com/go-logr/logr", []string{"syncloop/server"}},
			{"google.golang.org/grpc", []string{"runtime/cri", "podworkers/prober/grpccheck", "internal/e2e"}},
			{"github.com/prometheus", []string{"syncloop/metrics"}},
			{"github.com/fsnotify/fsnotify", []string{"podmanager/source/manifest"}},
			{"sigs.k8s.io/yaml", []string{"test"}},
			{"go.yaml.in/yaml/v3", []string{"internal/document"}},
			{"github.com/spf13/cobra", []string{"examples/agent", "examples/internal/command"}},
			{"github.com/spf13/pflag", []string{"examples/agent", "examples/cluster", "examples/fleet", "examples/internal/command"}},
			{"github.com/coreos/go-systemd", []string{"examples/agent"}},
			{"golang.org/x/term", []string{"examples/agent"}},
			{"golang.org/x/sys", []string{"internal/osfile"}},
			{"github.com/stretchr/testify", []string{"test"}},
			{"github.com/cockroachdb/datadriven", []string{"test"}},
			{"go.uber.org/goleak", []string{"test"}},
			{"pgregory.net/rapid", []string{"test"}},
		},
	}
}

// findRow returns the first row of the table whose pattern matches the directory of a package, and false if no
// row matches.
func (h Codebase) findRow(dir string) (Row, bool) {
	for _, r := range h.Rows {
		if ok, _ := path.Match(r.Dir, dir); ok {
			return r, true
		}
	}
	return Row{}, false
}
