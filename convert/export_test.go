package convert

// SameData is for tests in other packages.
var SameData = sameData
