package stats_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/stats"
)

// A node serves its summary.
func ExampleHandler() {
	n, err := node.New(node.Config{Name: "edge"})
	if err != nil {
		panic(err)
	}
	answer := httptest.NewRecorder()
	stats.Handler(n.Containers()).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/stats/summary", nil))
	fmt.Println(answer.Code, answer.Header().Get("Content-Type"))
	// Output:
	// 200 application/json
}
