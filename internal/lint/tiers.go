package lint

// tiers says what an importer may expect of each package. Before 1.0 nothing is
// settled for good.
var tiers = map[string]Tier{
	"pleg":                                Beta,
	"podmanager":                          Beta,
	"podmanager/checkpoint":               Beta,
	"podmanager/source":                   Beta,
	"podmanager/source/manifest":          Beta,
	"podmanager/source/sourcetest":        Beta,
	"podmanager/status":                   Beta,
	"podmanager/status/reconcile":         Beta,
	"podmanager/validation":               Beta,
	"podworkers":                          Beta,
	"podworkers/backoff":                  Beta,
	"podworkers/lifecycle":                Beta,
	"podworkers/podsync":                  Beta,
	"podworkers/podsync/hookhttp":         Experimental,
	"podworkers/podsync/images":           Beta,
	"podworkers/podsync/objects":          Beta,
	"podworkers/podsync/plan":             Experimental,
	"podworkers/podsync/podstatus":        Beta,
	"podworkers/podsync/reasons":          Beta,
	"podworkers/podsync/volumes":          Beta,
	"podworkers/podsync/volumes/inmemory": Experimental,
	"podworkers/podsync/volumestest":      Beta,
	"podworkers/podworkerstest":           Beta,
	"podmanager/status/statustest":        Beta,
	"podworkers/prober":                   Beta,
	"podworkers/prober/check":             Experimental,
	"podworkers/prober/grpccheck":         Experimental,
	"podworkers/prober/verdict":           Beta,
	"runtime":                             Beta,
	"runtime/cri":                         Beta,
	"runtime/faulty":                      Beta,
	"runtime/memory":                      Beta,
	"runtime/runtimetest":                 Beta,
	"syncloop":                            Beta,
	"syncloop/debug":                      Experimental,
	"syncloop/gc":                         Beta,
	"syncloop/gc/policy":                  Experimental,
	"syncloop/gc/logfiles":                Experimental,
	"syncloop/node":                       Beta,
	"syncloop/node/explain":               Experimental,
	"syncloop/nodetest":                   Beta,
	"workqueue":                           Beta,
	"workqueue/workqueuetest":             Beta,
}

// hiddenTypes are those that are known: package, exported name, type. The list only
// shrinks.
var hiddenTypes = []string{}
