package debug

import (
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/podkeel/podkeel/internal/plain"
)

// explain answers for one pod, in the form that was asked for.
func explain(ask func(namespace, name string) (fmt.Stringer, bool)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		format, ok := formatOf(r)
		if !ok {
			say(w, http.StatusBadRequest, "format is text or json\n")
			return
		}
		namespace, name := r.PathValue("namespace"), r.PathValue("name")
		var page fmt.Stringer
		if ok = isName(namespace) && isName(name); ok {
			page, ok = ask(namespace, name)
		}
		switch {
		case !ok:
			say(w, http.StatusNotFound, fmt.Sprintf("there is no pod %.253q in namespace %.253q on this node; /pods lists those there are\n", name, namespace))
		case format == "json":
			answer(w, page)
		default:
			say(w, http.StatusOK, plain.Text(page.String()))
		}
	}
}

// isName: a pod or a namespace could be called so.
func isName(s string) bool { return len(validation.IsDNS1123Subdomain(s)) == 0 }

// formatOf is what the query says, or else what comes first in Accept. It is
// not ok if the query asks for something unknown.
func formatOf(r *http.Request) (format string, ok bool) {
	switch format = r.URL.Query().Get("format"); format {
	case "text", "json":
		return format, true
	case "":
	default:
		return "", false
	}
	for accepted := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		kind, _, _ := strings.Cut(accepted, ";")
		switch strings.TrimSpace(kind) {
		case "application/json":
			return "json", true
		case "text/plain", "text/*", "*/*":
			return "text", true
		}
	}
	return "text", true
}
