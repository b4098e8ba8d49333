package lint

// unruled are the packages that cite rules and have no RULES.md yet. The list only
// shrinks.
var unruled = []string{}

// uncontracted are those whose comments are longer than a contract, or cite rules. The
// list only shrinks.
var uncontracted = []string{
	"internal/deadline",
	"internal/e2e",
	"internal/resources",
	"pleg",
	"pleg/internal/diff",
	"podmanager",
	"podmanager/checkpoint",
	"podmanager/source",
	"podmanager/source/internal/merge",
	"podmanager/source/manifest",
	"podmanager/status",
	"podmanager/status/internal/reconcile",
	"podworkers",
	"podworkers/lifecycle",
	"podworkers/podsync",
	"podworkers/podsync/hookhttp",
	"podworkers/podsync/images",
	"podworkers/podsync/images/internal/registry",
	"podworkers/podsync/internal/environ",
	"podworkers/podsync/internal/volume",
	"podworkers/podsync/objects",
	"podworkers/podsync/plan",
	"podworkers/podsync/volumes",
	"podworkers/prober",
	"podworkers/prober/check",
	"podworkers/prober/grpccheck",
	"runtime/cri",
	"runtime/cri/internal/convert",
	"runtime/faulty",
	"syncloop",
	"syncloop/gc",
	"syncloop/gc/logfiles",
	"syncloop/gc/policy",
	"syncloop/node",
	"syncloop/nodetest",
	"workqueue",
}
