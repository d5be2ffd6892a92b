/* What shim.c and gonum.org/v1/hdf5 use of libhdf5. A name that is missing here makes the
 * linker link libhdf5 after all, which a test of package hdf5write notices. */
#ifndef H5DNN_SYMBOLS_H
#define H5DNN_SYMBOLS_H

/* Called in the init of gonum.org/v1/hdf5. */
#define H5DNN_INIT_FUNCTIONS(X) X(H5open) X(H5Eset_auto2) X(H5Tcopy) X(H5Tset_size)

#define H5DNN_FUNCTIONS(X) \
	X(H5Aclose) X(H5Acreate2) X(H5Adelete) X(H5Aexists) X(H5Aget_space) X(H5Aget_type) X(H5Aopen) \
	X(H5Aread) X(H5Awrite) X(H5Dclose) X(H5Dcreate2) X(H5Dget_chunk_storage_size) X(H5Dget_create_plist) \
	X(H5Dget_offset) X(H5Dget_space) X(H5Dget_type) X(H5Dopen2) X(H5Dread) X(H5Dread_chunk) \
	X(H5Dset_extent) X(H5Dwrite) X(H5Dwrite_chunk) X(H5Eclear2) X(H5Eprint2) X(H5Ewalk2) \
	X(H5Fclose) X(H5Fcreate) X(H5Fflush) X(H5Fget_name) X(H5Fis_hdf5) X(H5Fopen) X(H5Freopen) \
	X(H5Gclose) X(H5Gcreate2) X(H5Gget_info) X(H5Gget_objtype_by_idx) X(H5Gopen2) X(H5Idec_ref) \
	X(H5Iget_file_id) X(H5Iget_name) X(H5Iget_type) X(H5Lcreate_external) X(H5Lcreate_hard) \
	X(H5Lcreate_soft) X(H5Lexists) X(H5Lget_name_by_idx) X(H5Oget_info) X(H5Olink) X(H5Oopen) \
	X(H5Oset_comment_by_name) X(H5PLset_loading_state) X(H5PTappend) X(H5PTclose) X(H5PTcreate_fl) \
	X(H5PTcreate_index) X(H5PTget_next) X(H5PTget_num_packets) X(H5PTis_valid) X(H5PTopen) \
	X(H5PTread_packets) X(H5PTset_index) X(H5Pclose) X(H5Pcopy) X(H5Pcreate) X(H5Pget_chunk) \
	X(H5Pget_chunk_cache) X(H5Pget_external_count) X(H5Pget_layout) X(H5Pget_mdc_config) X(H5Pset_alignment) \
	X(H5Pset_alloc_time) X(H5Pset_char_encoding) X(H5Pset_chunk) X(H5Pset_chunk_cache) \
	X(H5Pset_create_intermediate_group) X(H5Pset_deflate) X(H5Pset_elink_cb) X(H5Pset_external) X(H5Pset_virtual) X(H5Rcreate) X(H5Pset_fclose_degree) \
	X(H5Pset_file_locking) X(H5Pset_file_space_page_size) X(H5Pset_file_space_strategy) X(H5Pset_fill_time) X(H5Pset_fill_value) X(H5Pset_filter) X(H5Pset_layout) \
	X(H5Pset_libver_bounds) X(H5Pset_link_creation_order) X(H5Pset_obj_track_times) X(H5Pset_mdc_config) X(H5Pset_userblock) X(H5Sclose) X(H5Scopy) \
	X(H5Screate) X(H5Screate_simple) X(H5Sget_select_npoints) X(H5Sget_simple_extent_dims) \
	X(H5Sget_simple_extent_ndims) X(H5Sget_simple_extent_npoints) X(H5Sget_simple_extent_type) \
	X(H5Sis_simple) X(H5Soffset_simple) X(H5Sselect_elements) X(H5Sselect_hyperslab) X(H5Sselect_none) X(H5Sselect_valid) X(H5Tarray_create2) \
	X(H5Tclose) X(H5Tcommit2) X(H5Tcommit_anon) X(H5Tcommitted) X(H5Tcreate) X(H5Tdecode) X(H5Tdetect_class) \
	X(H5Tenum_create) X(H5Tenum_insert) X(H5Tequal) X(H5Tget_array_dims2) X(H5Tget_array_ndims) \
	X(H5Tget_class) X(H5Tget_member_class) X(H5Tget_member_index) X(H5Tget_member_name) \
	X(H5Tget_member_offset) X(H5Tget_member_type) X(H5Tget_nmembers) X(H5Tget_size) X(H5Tget_tag) \
	X(H5Tinsert) X(H5Tis_variable_str) X(H5Tlock) X(H5Topen2) X(H5Tpack) X(H5Tset_cset) X(H5Tset_ebias) \
	X(H5Tset_fields) X(H5Tset_tag) X(H5Tvlen_create) X(H5check_version) X(H5close) \
	X(H5garbage_collect) X(H5get_libversion)

#define H5DNN_VARIABLES(X) \
	X(H5P_CLS_ATTRIBUTE_CREATE_ID_g) X(H5P_CLS_DATASET_ACCESS_ID_g) X(H5P_CLS_DATASET_CREATE_ID_g) X(H5P_CLS_DATATYPE_CREATE_ID_g) \
	X(H5P_CLS_FILE_ACCESS_ID_g) X(H5P_CLS_FILE_CREATE_ID_g) X(H5P_CLS_GROUP_CREATE_ID_g) \
	X(H5P_CLS_LINK_CREATE_ID_g) X(H5T_C_S1_g) X(H5T_FORTRAN_S1_g) X(H5T_IEEE_F32BE_g) \
	X(H5T_IEEE_F32LE_g) X(H5T_IEEE_F64BE_g) X(H5T_IEEE_F64LE_g) X(H5T_NATIVE_B16_g) X(H5T_NATIVE_B32_g) \
	X(H5T_NATIVE_B64_g) X(H5T_NATIVE_B8_g) X(H5T_NATIVE_DOUBLE_g) X(H5T_NATIVE_FLOAT_g) \
	X(H5T_NATIVE_HBOOL_g) X(H5T_NATIVE_HERR_g) X(H5T_NATIVE_HSIZE_g) X(H5T_NATIVE_HSSIZE_g) \
	X(H5T_NATIVE_INT16_g) X(H5T_NATIVE_INT32_g) X(H5T_NATIVE_INT64_g) X(H5T_NATIVE_INT8_g) \
	X(H5T_NATIVE_INT_g) X(H5T_NATIVE_LDOUBLE_g) X(H5T_NATIVE_LLONG_g) X(H5T_NATIVE_LONG_g) \
	X(H5T_NATIVE_OPAQUE_g) X(H5T_NATIVE_SCHAR_g) X(H5T_NATIVE_SHORT_g) X(H5T_NATIVE_UCHAR_g) \
	X(H5T_NATIVE_UINT16_g) X(H5T_NATIVE_UINT32_g) X(H5T_NATIVE_UINT64_g) X(H5T_NATIVE_UINT8_g) \
	X(H5T_NATIVE_UINT_g) X(H5T_NATIVE_ULLONG_g) X(H5T_NATIVE_ULONG_g) X(H5T_NATIVE_USHORT_g) \
	X(H5T_STD_B16BE_g) X(H5T_STD_B16LE_g) X(H5T_STD_B32BE_g) X(H5T_STD_B32LE_g) X(H5T_STD_B64BE_g) \
	X(H5T_STD_B64LE_g) X(H5T_STD_B8BE_g) X(H5T_STD_B8LE_g) X(H5T_STD_I16BE_g) X(H5T_STD_I16LE_g) \
	X(H5T_STD_I32BE_g) X(H5T_STD_I32LE_g) X(H5T_STD_I64BE_g) X(H5T_STD_I64LE_g) X(H5T_STD_I8BE_g) \
	X(H5T_STD_I8LE_g) X(H5T_STD_REF_DSETREG_g) X(H5T_STD_REF_OBJ_g) X(H5T_STD_U16BE_g) \
	X(H5T_STD_U16LE_g) X(H5T_STD_U32BE_g) X(H5T_STD_U32LE_g) X(H5T_STD_U64BE_g) X(H5T_STD_U64LE_g) \
	X(H5T_STD_U8BE_g) X(H5T_STD_U8LE_g) X(H5T_UNIX_D32BE_g) X(H5T_UNIX_D32LE_g) X(H5T_UNIX_D64BE_g) \
	X(H5T_UNIX_D64LE_g)

#endif
