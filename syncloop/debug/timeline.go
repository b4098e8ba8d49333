package debug

import (
	"net/http"

	"github.com/podkeel/podkeel/syncloop/timeline"
	"github.com/podkeel/podkeel/syncloop/timeline/page"
)

// timelineHandler returns the handler of /timeline, which responds with an HTML page that draws the timeline of
// a pod. It responds with 404 for an unknown pod.
func timelineHandler(find func(namespace, name string) (timeline.Timeline, bool)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		namespace, name := r.PathValue("namespace"), r.PathValue("name")
		var drawing timeline.Timeline
		ok := isValidName(namespace) && isValidName(name)
		if ok {
			drawing, ok = find(namespace, name)
		}
		if !ok {
			respondUnknownPod(w, namespace, name, "")
			return
		}
		p := page.Draw(namespace+"/"+name, drawing)
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", p.Policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		_, _ = w.Write(p.HTML) // An error means that the client has disconnected.
	}
}
