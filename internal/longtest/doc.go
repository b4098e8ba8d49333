// Package longtest holds how much work the expensive tests do. A plain "go test ./..." does the
// short form of them: fewer seeds, crashes at fewer steps, a less deep walk. It has to take a
// minute or two, so that people run it before each commit. With PODKEEL_LONG=1 in the environment
// each test does all its work. .ci/run sets the variable for its steps test and race.
//
// A test asks when it runs and not when its package is initialised: go test keeps results, and
// it knows only of variables that are read while tests run.
package longtest
