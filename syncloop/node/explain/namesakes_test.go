package explain_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/node/explain"
)

// TestOrder: the running pod of a name precedes one that was rejected because of it, and both precede
// undesired pods. Each UID is returned once, and equal pods keep their order.
func TestOrder(t *testing.T) {
	running := explain.Namesake{UID: "running", Desired: true, Admitted: true}
	rejected := explain.Namesake{UID: "rejected", Desired: true}
	ending := explain.Namesake{UID: "ending", Admitted: true}
	gone := explain.Namesake{UID: "gone"}
	for want, found := range map[string][]explain.Namesake{
		"[]":                              nil,
		"[running rejected ending gone]":  {rejected, ending, gone, running},
		"[running rejected gone ending]":  {gone, ending, rejected, running},
		"[running ending]":                {running, ending, running, ending},
		"[rejected gone]":                 {gone, rejected, gone},
		"[running other]":                 {running, {UID: "other", Desired: true, Admitted: true}},
		"[other running]":                 {{UID: "other", Desired: true, Admitted: true}, running},
		"[rejected other ending another]": {ending, rejected, {UID: "other", Desired: true}, {UID: "another"}},
	} {
		uids := explain.Order(found)
		if uids == nil {
			uids = []types.UID{}
		}
		assert.Equal(t, want, fmt.Sprint(uids))
	}
}
