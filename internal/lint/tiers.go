package lint

// tiers says what an importer may expect of each package. Before 1.0 nothing is
// settled for good.
var tiers = map[string]Tier{
	"pleg":                                Settling,
	"podmanager":                          Settling,
	"podmanager/checkpoint":               Settling,
	"podmanager/source":                   Settling,
	"podmanager/source/manifest":          Settling,
	"podmanager/status":                   Settling,
	"podworkers":                          Settling,
	"podworkers/lifecycle":                Settling,
	"podworkers/podsync":                  Settling,
	"podworkers/podsync/hookhttp":         Experimental,
	"podworkers/podsync/images":           Settling,
	"podworkers/podsync/objects":          Settling,
	"podworkers/podsync/plan":             Experimental,
	"podworkers/podsync/podstatus":        Settling,
	"podworkers/podsync/volumes":          Settling,
	"podworkers/podsync/volumes/inmemory": Experimental,
	"podworkers/podworkerstest":           Settling,
	"podworkers/prober":                   Settling,
	"podworkers/prober/check":             Experimental,
	"podworkers/prober/grpccheck":         Experimental,
	"podworkers/prober/verdict":           Settling,
	"runtime":                             Settling,
	"runtime/cri":                         Settling,
	"runtime/faulty":                      Settling,
	"runtime/memory":                      Settling,
	"runtime/runtimetest":                 Settling,
	"syncloop":                            Settling,
	"syncloop/debug":                      Experimental,
	"syncloop/gc":                         Settling,
	"syncloop/gc/policy":                  Experimental,
	"syncloop/gc/logfiles":                Experimental,
	"syncloop/node":                       Settling,
	"syncloop/node/explain":               Experimental,
	"syncloop/nodetest":                   Settling,
	"workqueue":                           Settling,
}

// hiddenTypes are those that are known: package, exported name, type. The list only
// shrinks.
var hiddenTypes = []string{
	"pleg Config.Runtime podLister",
	"podmanager/status Config.Translator translator",
	"podworkers Config.Cache statusCache",
}
