// Package lint holds the rules of this codebase as Go tests: layers, purity, sole importers and
// documentation. layers.go is the table of packages. "go test ./internal/lint" runs them.
//
// It prints every finding with its place and the remedy. Each rule has a module under testdata that breaks
// the rule. -rewrite writes testdata/api.txt, internal/PACKAGES.md and the tests in RULES.md files again.
//
// # Rules
//
//	toplevel     the top level of the repository is as listed
//	table        every package has a row in the table
//	layer        imports point down
//	importer     a heavy dependency has one importer
//	pure         a pure package only computes
//	words        a package of types runs nothing
//	passive      a passive package starts nothing
//	seam         a shell waits and forks only through the executor
//	constructor  no function called New… starts anything
//	example      a runnable example calls each exported constructor
//	global       no init, no global state, no exit outside programs
//	doc          every package and every exported name has a comment
//	sleep        no test sleeps or polls, except in virtual time
//	leak         tests fail if a goroutine is left
//	files        only internal/osfile opens directories and removes trees
//	glob         no path is matched with a pattern: paths may have its characters
//	decoder      only internal/document reads YAML: it bounds what a document becomes
//	hidden       an importer can name every type in an exported signature
//	ruletable    RULES.md has every id that its package cites, and its tests
//	contract     a package comment has at most 80 lines and no ids
//	size         files are bounded
//	summary      first sentences fit PACKAGES.md, and say which packages are experimental
//	basename     no two packages that can be imported have one name
//	term         exported names and their comments use standard words (terms.go)
//
// # Layers
//
// Imports point to lower layers; Stairs in layers.go lists the exceptions.
//
//	6   programs  examples/*  examples/tour/*  internal/e2e/figures  internal/benchratio  internal/cgroupvm  internal/compat
//	            internal/podfields/generate
//	    kits      internal/e2e  syncloop/cluster/clustertest
//	    tools     internal/lint
//	5c  shells    syncloop/cluster
//	    edges     syncloop/localapi  syncloop/metrics  syncloop/stats  syncloop/node/statedir
//	    kits      syncloop/nodetest  examples/internal/command  examples/tour/internal/tourtest
//	5b  shells    syncloop/node
//	    edges     syncloop/debug  syncloop/server
//	5a  shells    syncloop  syncloop/gc  syncloop/eviction/evictor  syncloop/cluster/internal/objects
//	4   edges     podmanager/source/manifest  podmanager/checkpoint  podworkers/podsync/volumes
//	              podworkers/podsync/objects  syncloop/gc/logfiles  podworkers/prober/check  podworkers/prober/grpccheck
//	              podworkers/podsync/hookhttp  runtime/cri  runtime/cgroups  syncloop/eviction/observe  syncloop/internal/respond  syncloop/cluster/client  syncloop/cluster/internal/review
//	    shells    syncloop/cluster/feed
//	    passive   podworkers/podsync/volumes/inmemory  syncloop/cluster/statussink
//	    kits      podmanager/podtest  podmanager/status/statustest  podmanager/source/sourcetest  runtime/runtimetest
//	              podworkers/podsyncertest  podworkers/podworkerstest  podworkers/podsync/volumestest
//	              workqueue/workqueuetest  runtime/cgroups/cgroupstest  syncloop/cluster/apiservertest  internal/proportion  internal/longtest  internal/figure
//	3   shells    podworkers  podworkers/podsync  podworkers/prober  pleg  podmanager/source  podmanager/status
//	              syncloop/cluster/contact  syncloop/cluster/mirror  syncloop/cluster/nodeagent  syncloop/events
//	    edges     runtime/cri/internal/logfile  runtime/cri/internal/streaming  syncloop/internal/inprocess
//	2   passive   workqueue  podworkers/podsync/internal/find  podmanager  runtime/memory
//	              podworkers/podsync/images  runtime/faulty  syncloop/timeline/recorder
//	    pure      syncloop/cluster/feed/internal/follow  syncloop/timeline/page
//	              syncloop/events/internal/correlate
//	1c  pure      podworkers/lifecycle  podworkers/podsync/plan
//	              podworkers/podsync/internal/environ  podworkers/podsync/internal/volume  podworkers/podsync/internal/refresh
//	              podworkers/podsync/internal/request
//	              podworkers/prober/verdict  podmanager/source/internal/merge  podmanager/validation
//	              podmanager/status/reconcile  podmanager/status/internal/outbox
//	              podmanager/source/manifest/internal/poll  pleg/internal/diff  runtime/cri/internal/convert  runtime/cri/internal/crilog
//	              syncloop/gc/policy  syncloop/allocation  syncloop/eviction  syncloop/internal/usage  syncloop/node/explain
//	              syncloop/internal/patch  syncloop/nodestatus  syncloop/timeline  syncloop/internal/watchcache
//	              syncloop/localapi/internal/created
//	1b  pure      podworkers/backoff  podmanager/podstatus  podmanager/podresources  internal/document
//	    passive   internal/contain  runtime/memory/internal/files
//	    shell     runtime/memory/internal/console
//	1a  types     runtime  internal  syncloop/cluster/apiserver
//	    seam      internal/executor    kit  internal/conformance
//	    passive   internal/dirty  internal/keylock  internal/podfields
//	    pure      internal/podspec  internal/plain
//	    edges     internal/osfile  internal/podhttp
//	0   base      the standard library  k8s.io/api  k8s.io/apimachinery  k8s.io/utils/clock
package lint
