package debug

import (
	"net/http"
	"slices"
	"strings"

	"github.com/podkeel/podkeel/syncloop/internal/respond"
)

// indexRoutes returns the routes that respond with a list of the patterns in listed and, if the Config has
// timelines, with a list of the timeline paths of all pods. They respond with text and no links, because a
// request from a link on a page would be rejected.
func indexRoutes(config Config, listed []route) []route {
	var patterns []string
	for _, r := range listed {
		patterns = append(patterns, r.pattern)
	}
	lists := []route{{"GET /{$}", listHandler("the paths of this node:", func() []string { return patterns })}}
	if config.Timeline == nil {
		return lists
	}
	drawn := listHandler("the timelines of this node:", func() (paths []string) {
		for _, pod := range config.Pods() {
			paths = append(paths, "/timeline/"+pod.Namespace+"/"+pod.Name)
		}
		return paths
	})
	return append(lists, route{"GET /timeline", drawn}, route{"GET /timeline/{$}", drawn})
}

// listHandler returns a handler that responds with a title and the sorted lines that lines returns.
func listHandler(title string, lines func() []string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		sorted := slices.Sorted(slices.Values(lines()))
		respond.WriteText(w, http.StatusOK, strings.Join(append([]string{title}, sorted...), "\n")+"\n")
	}
}
