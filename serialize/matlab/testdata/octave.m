% Writes octave.h5: octave-cli octave.m
s.field = [1 2 3; 4 5 6]; s.name = 'größe'; s.nested.deep = int64(-7); s.z = 3+4i; s.none = struct();
c = {1, 'two', [3 4 5]; int8(6), true, {7, 'x'}};
sa(1).v = 1; sa(2).v = [2 3];
b = [true false; true true];
e2 = zeros(0,3); ce = {}; cs = '';
str = ['abc';'def'];
sp = sparse([1 2],[1 3],[5 6],3,4); bsp = sparse([true false; false true]); csp = sparse([1+2i 0 3]); esp = sparse(0,3);
z = [1+2i 3]; fz = single(1+2i);
i64 = int64([9223372036854775807 -1]);
f = single(1.5); r = 0:0.1:0.3; fh = @(x) x+1;
d3 = reshape(1:24,2,3,4);
save('-hdf5','octave.h5','s','c','sa','b','e2','ce','cs','str','sp','bsp','csp','esp','z','fz','i64','f','r','fh','d3');
% Files of few objects to fuzz.
[~, ~] = mkdir('octave');
v = c(1,:); save('-hdf5','octave/cell.h5','v');
v = struct('a', {1, 'x'}); save('-hdf5','octave/structs.h5','v');
v = sp; save('-hdf5','octave/sparse.h5','v');
v = r; save('-hdf5','octave/range.h5','v');
v = {}; save('-hdf5','octave/empty.h5','v');
v = fz; save('-hdf5','octave/complex.h5','v');
