package stats

import (
	"net/http"
	"strconv"

	"github.com/podkeel/podkeel/syncloop/internal/respond"
	"github.com/podkeel/podkeel/syncloop/node"
)

// maxRequests is the maximum number of requests that are answered at the same time.
const maxRequests = 8

// Handler answers each GET request with the summary of the node.
func Handler(reader node.StatsReader) http.Handler {
	gate := &respond.Gate{Most: maxRequests}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			respond.WriteText(w, http.StatusMethodNotAllowed, "the summary can only be read\n")
			return
		}
		only := false
		if text := r.URL.Query().Get("only_cpu_and_memory"); text != "" {
			var err error
			if only, err = strconv.ParseBool(text); err != nil {
				respond.WriteText(w, http.StatusBadRequest, "only_cpu_and_memory is neither true nor false\n")
				return
			}
		}
		if !gate.Enter(w) {
			return
		}
		defer gate.Leave()
		all, err := reader.NodeStats(r.Context())
		if err != nil {
			respond.WriteError(w, err)
			return
		}
		respond.WriteJSON(w, Summarize(all, only))
	})
}
