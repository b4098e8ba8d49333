package runtimetest

// Echoes are the fields of records that the cases hold to be repetitions of a
// request, as "Sandbox.Attempt", with the fields that they repeat.
func Echoes() map[string]string {
	all := map[string]string{}
	for _, e := range podEchoes {
		all["Pod."+e.field], all["PodStatus."+e.field] = e.requestField, e.requestField
	}
	for _, e := range sandboxEchoes {
		all[e.field] = e.requestField
	}
	for _, e := range sandboxStatusEchoes {
		all[e.field] = e.requestField
	}
	for _, e := range containerEchoes {
		all[e.field] = e.requestField
	}
	for _, e := range containerStatusEchoes {
		all[e.field] = e.requestField
	}
	return all
}
