package request

// Node is what a node contributes to the requests for its pods.
type Node struct {
	ClusterDNS    []string // addresses of the cluster's name servers
	ClusterDomain string   // what the names of the cluster end in
	SeccompRoot   string   // the directory of seccomp profiles, an absolute path
	LogRoot       string   // the directory below which pods have their logs; empty: no paths
	MemoryBytes   uint64   // of the node; zero: not known
	// Handlers are the runtime handlers by the name of their RuntimeClass.
	Handlers map[string]string
}
