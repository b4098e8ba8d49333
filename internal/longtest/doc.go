// Package longtest decides how much work the expensive tests do. A plain "go test ./..." runs their
// short form: fewer seeds, crashes at fewer steps, a less deep walk. It should take a minute or
// two, so that people run it before each commit. With PODKEEL_LONG=1 in the environment each test
// does all its work. .ci/run sets the variable for its steps test and race.
//
// A test calls this package while it runs and not when its package is initialised: go test caches
// results, and it only tracks variables that are read while tests run.
package longtest
