package debug

import (
	"net/http"
	"slices"
	"strings"

	"github.com/podkeel/podkeel/syncloop/internal/respond"
)

// indexRoutes are the routes that say what can be asked. They answer text: a browser that follows
// a link of a page is refused, as any page could have it.
func indexRoutes(config Config, all []route) []route {
	var patterns []string
	for _, r := range all {
		patterns = append(patterns, r.pattern)
	}
	lists := []route{{"GET /{$}", listHandler("this node can be asked for:", func() []string { return patterns })}}
	if config.Timeline == nil {
		return lists
	}
	drawn := listHandler("the timelines of these pods can be asked for:", func() (paths []string) {
		for _, pod := range config.Pods() {
			paths = append(paths, "/timeline/"+pod.Namespace+"/"+pod.Name)
		}
		return paths
	})
	return append(lists, route{"GET /timeline", drawn}, route{"GET /timeline/{$}", drawn})
}

// listHandler answers with lines in order.
func listHandler(title string, lines func() []string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		sorted := slices.Sorted(slices.Values(lines()))
		respond.WriteText(w, http.StatusOK, strings.Join(append([]string{title}, sorted...), "\n")+"\n")
	}
}
